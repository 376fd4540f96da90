"""Tells the launcher how a line looks that is not finished: a progress bar, rewritten again and
again by ``\\r``. Only the latest state counts, so none is kept or sent twice.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.wire import Message
    from ..loop import Loop, Timer

LONGEST = 300  # characters that are sent


class ProgressBarSender:
    def __init__(self, loop: Loop, tell: Callable[[Message], None], every: float) -> None:
        """Sends at most once in *every* seconds."""
        self._loop = loop
        self._tell = tell
        self._every = every
        self._state = self._told = ""
        self._timer: Timer | None = None  # runs while nothing may be sent

    def update(self, state: str) -> None:
        """The new state; empty if there is no such line any more."""
        self._state = state[:LONGEST]
        if self._timer is None:
            self._tell_news()

    def _tell_news(self) -> None:
        self._timer = None
        if self._state != self._told:
            self._told = self._state
            self._tell({"type": "progress", "text": self._state})
            self._timer = self._loop.after(self._every, self._tell_news)
