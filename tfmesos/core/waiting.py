"""The wait for all tasks: its reason, how often to report it, and its time limit."""

from __future__ import annotations

from ..errors import EngineError, ResourcesError, StartTimeout, TFMesosError
from ..text import agreeing, count, join_names
from .actions import Action, Say
from .tasks import Stage, Tasks

FIRST_NOTICE = 3.0  # seconds until the first message
NOTICE_EVERY = 5.0  # minimum seconds between two messages
REPEAT_AFTER = 30.0  # seconds until the same message is repeated


class Wait:
    def __init__(self, members: Tasks, timeout: float | None, now: float) -> None:
        self._members = members
        self._timeout = timeout
        self.is_engine_ready = False
        self.trouble = "waiting for the cluster"  # or why its engine is not ready
        # as the engine said last
        self.placed = 0
        self.reason = "no place has been found yet"
        self.begin(now)

    def explain(self, placed: int, reason: str) -> list[Action]:
        """How many could have a place, and why not all can."""
        self.placed = placed
        self.reason = reason
        return []

    def begin(self, now: float) -> None:
        """The run has to wait from now on."""
        self._notice_at = now + FIRST_NOTICE
        self._said = ""
        self._said_at = now
        self._end_at = None if self._timeout is None else now + self._timeout

    @property
    def deadline(self) -> float:
        return self._notice_at if self._end_at is None else min(self._notice_at, self._end_at)

    def is_over(self, now: float) -> bool:
        return self._end_at is not None and now >= self._end_at

    def note_trouble(self, text: str) -> Say:
        self.trouble = self._said = text
        return Say(text, "notice")

    def notice(self, now: float) -> list[Say]:
        """Report what the run waits for: when it changes, but not too often; otherwise rarely."""
        if now < self._notice_at:
            return []
        self._notice_at = now + NOTICE_EVERY
        text = self.text()
        if text == self._said and now < self._said_at + REPEAT_AFTER:
            return []
        self._said = text
        self._said_at = now
        return [Say(text, "notice")]

    def error(self) -> TFMesosError:
        """The error of a wait that took too long."""
        awaited = f"not started after {self._timeout:g} s: {self.text()}"
        if not self.is_engine_ready:
            return EngineError(awaited)
        return ResourcesError(awaited) if self._members.waiting() else StartTimeout(awaited)

    def summary(self) -> str:
        registered, total = self._members.with_runner, len(self._members)
        return f"{registered} of {total} tasks registered; {self.text()}"

    def text(self) -> str:
        """What the run is waiting for."""
        if not self.is_engine_ready:
            return self.trouble
        if waiting := self._members.waiting():
            total = len(self._members)
            placed = total - len(waiting) + self.placed
            return f"{placed} of {count(total, 'task')} placed; {self.reason}"
        if pausing := [m.task.name for m in self._members if m.stage is Stage.PAUSING]:
            are = agreeing(len(pausing), "is", "are")
            return f"waiting a moment before {join_names(pausing)} {are} launched again"
        launched = [m for m in self._members if m.stage is Stage.LAUNCHED]
        missing = [f"{m.task.name} on {m.hostname}" for m in launched]
        return f"waiting for {join_names(missing)} to report to the launcher"
