"""The calls of one subscription: sent one by one, in order."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ....awake_timeout import awake_timeout
from ....http.client import Response, Session
from ....http.connection import HttpError
from .answers import Unreachable, base_of, reason_of, words_of
from .json_values import read_json
from .recordio import MAX_RECORD

MAX_ANSWER = MAX_RECORD  # bytes; the agents of a large cluster take about as many as their offers
MAX_IGNORED = 64 * 1024  # bytes of an answer that only says yes

log = logging.getLogger(__name__)

# What a master answers to a framework that is not subscribed: it no longer leads, or was restarted.
_VOID = (307, 308, 403, 500, 502, 503, 504)
_VOID_WORDS = ("Framework cannot be found", "The stream ID ")  # with status 400

# Gets the type of a call, the reason why it was refused, and the ids of the tasks it is about.
Refused = Callable[[str, str, tuple[str, ...]], None]


class Calls:
    """Sends calls beside a stream of events, never on the stream's own connection.

    A lost call closes the stream: nobody knows whether it arrived, so nothing may continue as if it
    had. So does a call that is refused because the subscription is void. Every other refusal is
    reported.
    """

    def __init__(
        self,
        session: Session,
        stream: Response,
        timeout: float,
        refused: Refused,
    ) -> None:
        self.base = base_of(stream.url)
        self.broken = ""  # why a call was lost
        self._session = session
        self._stream = stream
        self._timeout = timeout
        self._refused = refused
        self._queue: asyncio.Queue[_Call] = asyncio.Queue()
        self._last: asyncio.Future[bool] | None = None  # the answer to the call queued last

    def post(self, type: str, payload: bytes, tasks: Sequence[str] = ()) -> asyncio.Future[bool]:
        """Queue a call about *tasks*. The result tells whether the master accepted it."""
        accepted = asyncio.get_running_loop().create_future()
        self._queue.put_nowait(_Call(type, payload, tuple(tasks), accepted))
        self._last = accepted
        return accepted

    async def send(self) -> None:
        """Send what is queued, until cancelled or until a call gets lost."""
        while not self.broken:
            call = await self._queue.get()
            try:
                call.answer_with(await self._send(call))
            except (HttpError, OSError) as error:
                self._break(f"{call.type} was lost: {reason_of(error) or 'no answer'}")
            except Unreachable as trouble:
                self._break(f"{call.type} was not accepted: {trouble}")
            finally:
                call.answer_with(False)

    def _break(self, why: str) -> None:
        self.broken = why
        self._stream.close()  # wakes its reader

    async def get(self, path: str) -> Any:
        """The JSON at *path* of this master; None if we do not get it.

        Independent of the calls: it may take long, and nothing depends on it.
        """
        try:
            async with (
                awake_timeout(self._timeout),
                await self._session.ask("GET", self.base + path) as response,
            ):
                if response.status == 200:
                    body = await response.body(MAX_ANSWER)
                    return await asyncio.to_thread(read_json, body)
                log.debug("no answer to GET %s: %s", path, await words_of(response))
        except (HttpError, OSError, ValueError) as error:
            log.debug("no answer to GET %s: %s", path, reason_of(error))
        return None

    async def all_answered(self) -> None:
        """Wait until every call so far was answered or lost: they are sent in order."""
        if self._last is not None:
            await asyncio.shield(self._last)

    def close(self) -> None:
        """Tell those who wait that their calls were not sent."""
        while not self._queue.empty():
            self._queue.get_nowait().answer_with(False)

    async def _send(self, call: _Call) -> bool:
        log.debug("calling %s", call.type)
        headers = {"Mesos-Stream-Id": self._stream.headers["mesos-stream-id"]}
        async with (
            awake_timeout(self._timeout),
            await self._session.ask("POST", self._stream.url, call.payload, headers) as response,
        ):
            if response.status in (200, 202):
                await response.body(MAX_IGNORED)
                return True
            words = await words_of(response)
            if response.status in _VOID or any(text in words for text in _VOID_WORDS):
                raise Unreachable(words)
        self._refused(call.type, f"{self.base}: {words}", call.tasks)
        return False


class _Call(NamedTuple):
    type: str
    payload: bytes
    tasks: tuple[str, ...]
    accepted: asyncio.Future[bool]

    def answer_with(self, is_accepted: bool) -> None:
        if not self.accepted.done():
            self.accepted.set_result(is_accepted)
