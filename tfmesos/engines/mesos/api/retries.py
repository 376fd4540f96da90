"""How long to go on trying to find a master, and how long to wait between attempts."""

from __future__ import annotations

import asyncio
import random

from ....errors import MasterError
from ....record import Record
from .answers import NoSuchHost, NotMesos, Unreachable

_STRANGE_ROUNDS = 3  # a master that is just starting answers 404 for a moment


class Timing(Record):
    """How patient the client is, in seconds."""

    give_up_after: float = 30.0  # without a first subscription
    await_names: bool = False  # this long even for names that the resolver does not know
    reconnect_for: float = 600.0  # after the loss of a subscription
    connect: float = 5.0
    answer: float = 10.0  # to any request, and for the first event
    first_delay: float = 0.2  # between attempts, doubled each time
    longest_delay: float = 5.0
    missed_heartbeats: int = 5  # as many as the Mesos libraries allow


class Attempts:
    """How long to go on trying, and how long to wait between attempts."""

    def __init__(self, timing: Timing, seconds: float, delays: int = 0) -> None:
        self._timing = timing
        self._delays = delays
        self._seconds = seconds
        self._end = asyncio.get_running_loop().time() + seconds
        self._attempts = self._strange = 0

    def renewed(self, lived: float) -> Attempts:
        """For use after a loss. Subscriptions that are lost at once keep the delays growing."""
        delays = self._delays if lived < self._timing.longest_delay else 0
        return Attempts(self._timing, self._timing.reconnect_for, delays)

    def limit(self) -> float:
        """How long to wait for one answer."""
        return min(self._timing.answer, max(self._left(), 1.0))

    def next_delay(self) -> float:
        delay = min(self._timing.first_delay * 2.0**self._delays, self._timing.longest_delay)
        self._delays = min(self._delays + 1, 30)
        return min(delay * random.uniform(0.5, 1.0), max(self._left(), 0.0))

    def count_failure(self, trouble: Unreachable, *, subscribed_before: bool) -> None:
        """Count a failed attempt; MasterError if it was one too many."""
        self._attempts += 1
        self._strange = self._strange + 1 if isinstance(trouble, NotMesos) else 0
        is_hopeless = isinstance(trouble, NoSuchHost) and not self._timing.await_names
        if (is_hopeless or self._strange >= _STRANGE_ROUNDS) and not subscribed_before:
            raise MasterError(str(trouble))
        if self._left() <= 0:
            tried = f"{self._attempts} attempts in {self._seconds - self._left():.1f} s"
            raise MasterError(f"no Mesos master after {tried}: {trouble}")

    def _left(self) -> float:
        return self._end - asyncio.get_running_loop().time()
