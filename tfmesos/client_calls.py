"""The calls of one subscription: sent one by one, in order."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import aiohttp

from .client_answers import base_of, reason_of, words_of

log = logging.getLogger(__name__)


class Calls:
    """Sends calls beside a stream of events, never on the stream's own connection.

    aiohttp keeps that one out of its pool while the stream is open. A call that gets lost
    closes the stream: what became of it is unknown, so nothing may go on as if it were well.
    """

    def __init__(
        self, session: aiohttp.ClientSession, stream: aiohttp.ClientResponse, timeout: float
    ) -> None:
        self.base = base_of(str(stream.url))
        self.broken = ""  # why a call got lost
        self._session, self._stream, self._timeout = session, stream, timeout
        self._queue: asyncio.Queue[tuple[str, bytes, asyncio.Future[bool]]] = asyncio.Queue()

    def post(self, type: str, payload: bytes) -> asyncio.Future[bool]:
        """Queue a call. The result tells whether the master accepted it."""
        accepted = asyncio.get_running_loop().create_future()
        self._queue.put_nowait((type, payload, accepted))
        return accepted

    async def send(self) -> None:
        """Send what is queued, until cancelled or until a call gets lost."""
        while not self.broken:
            type, payload, accepted = await self._queue.get()
            try:
                _settle(accepted, await self._send(type, payload))
            except (aiohttp.ClientError, OSError) as error:
                self.broken = f"{type} got lost: {reason_of(error) or 'no answer'}"
                self._stream.close()  # wakes its reader
            finally:
                _settle(accepted, False)

    async def get(self, path: str) -> Any:
        """The JSON at *path* of this master, None if it does not give it to us.

        Beside the calls: it may take long, and nothing depends on it.
        """
        try:
            async with (
                asyncio.timeout(self._timeout),
                self._session.get(self.base + path, allow_redirects=False) as response,
            ):
                if response.status == 200:
                    return await asyncio.to_thread(json.loads, await response.read())
                log.debug("no answer to GET %s: %s", path, await words_of(response))
        except (aiohttp.ClientError, OSError, ValueError) as error:
            log.debug("no answer to GET %s: %r", path, error)
        return None

    def close(self) -> None:
        """Tell those who wait that their calls were not sent."""
        while not self._queue.empty():
            _settle(self._queue.get_nowait()[2], False)

    async def _send(self, type: str, payload: bytes) -> bool:
        log.debug("calling %s", type)
        headers = {"Mesos-Stream-Id": self._stream.headers["Mesos-Stream-Id"]}
        async with (
            asyncio.timeout(self._timeout),
            self._session.post(
                self._stream.url, data=payload, headers=headers, allow_redirects=False
            ) as response,
        ):
            if response.status in (200, 202):
                return True
            log.warning("%s was not accepted: %s", type, await words_of(response))
            return False


def _settle(accepted: asyncio.Future[bool], answer: bool) -> None:
    if not accepted.done():
        accepted.set_result(answer)
