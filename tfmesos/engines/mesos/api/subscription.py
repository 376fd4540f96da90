"""One subscription: its events are read and its calls are sent until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from ....errors import FrameError, MasterError
from ....http.client import Response
from ....json_types import Json
from .answers import NotMesos, Unreachable, event_of, receive
from .calls import Calls
from .recordio import RecordDecoder


class Lost(Exception):
    """There was a subscription, for *lived* seconds, and it ended."""

    def __init__(self, reason: str, lived: float) -> None:
        super().__init__(reason)
        self.lived = lived


class Subscription:
    """*take* gets each event; the first must come within *answer* seconds."""

    def __init__(
        self,
        response: Response,
        calls: Calls,
        answer: float,
        take: Callable[[Json, Subscription], None],
    ) -> None:
        self.calls = calls
        self._response = response
        self._take = take
        self._silence = answer  # seconds the stream may stay silent
        self._is_confirmed = False

    def confirm(self, silence: float) -> None:
        """The master has subscribed us; its stream may stay silent for this many seconds."""
        self._silence = silence
        self._is_confirmed = True

    async def run(self, is_end_wanted: Callable[[], bool]) -> None:
        """Return when the stream ends as intended.

        Raises Lost, MasterError if the master refuses us, Unreachable if it never confirmed.
        """
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            async with asyncio.TaskGroup() as group:
                sender = group.create_task(self.calls.send())
                # As a value: an exception would arrive wrapped, and hide a cancellation.
                ending = await self._ending(is_end_wanted)
                sender.cancel()
        finally:
            self.calls.close()
        if ending is not None:
            raise self._explained(ending, clock() - began)

    async def _ending(self, is_end_wanted: Callable[[], bool]) -> Exception | None:
        """Why the stream of events ended."""
        decoder = RecordDecoder()
        try:
            while data := await receive(self._response, self._silence):
                for record in decoder.feed(data):
                    self._take(event_of(record), self)
        except (Unreachable, MasterError, FrameError) as error:
            return error
        return None if is_end_wanted() else Unreachable("the master ended the stream")

    def _explained(self, ending: Exception, lived: float) -> Exception:
        if isinstance(ending, MasterError):
            return ending
        base = self.calls.base
        if isinstance(ending, FrameError):
            kind = MasterError if self._is_confirmed else NotMesos
            return kind(f"{base}: not the event stream of a Mesos master: {ending}")
        reason = f"{base}: {self.calls.broken or ending}"
        return Lost(reason, lived) if self._is_confirmed else Unreachable(reason)
