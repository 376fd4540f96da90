"""Tasks that run and say nothing: named after a while, and ended when that is wanted."""

from __future__ import annotations

from collections.abc import Iterable

from .actions import Action, Say
from .errors import Hung
from .roster import Member
from .words import some

NOTICE = 300.0  # seconds of silence before a task is first named; then twice as many, and so on
TOGETHER = 6.0  # seconds within which those that fell silent together are heard of


class Silence:
    def __init__(self, timeout: float | None) -> None:
        self.timeout = timeout
        self._since: dict[Member, float] = {}
        self._named: dict[Member, float] = {}  # after how many seconds it was named last

    def __bool__(self) -> bool:
        return bool(self._since)

    def heard(self, member: Member, seconds: float, now: float) -> None:
        """*member* has been silent for so long; 0: it has just said something."""
        if seconds > 0:
            self._since[member] = now - seconds
        else:
            self.forget(member)

    def forget(self, member: Member) -> None:
        self._since.pop(member, None)
        self._named.pop(member, None)

    def deadline(self, awaited: Iterable[Member]) -> float | None:
        """When the next word on one of *awaited* is due, or the end of all."""
        everyone = list(awaited)
        silent = [member for member in everyone if member in self._since]
        times = [self._since[m] + self._next_notice(m) + TOGETHER for m in silent]
        if self.timeout is not None and silent and len(silent) == len(everyone):
            times.append(max(self._since[m] for m in silent) + self.timeout)
        return min(times, default=None)

    def _to_be_named(self, awaited: Iterable[Member], now: float) -> list[tuple[Member, float]]:
        """Those whose silence is worth a word now, with its seconds; each once in a while."""
        silent = [(m, now - self._since[m]) for m in awaited if m in self._since]
        if not any(seconds >= self._next_notice(m) + TOGETHER for m, seconds in silent):
            return []
        due = [(m, seconds) for m, seconds in silent if seconds >= self._next_notice(m)]
        for member, _ in due:
            self._named[member] = self._next_notice(member)
        return due

    def name_some(self, awaited: Iterable[Member], now: float) -> list[Action]:
        if not (silent := self._to_be_named(awaited, now)):
            return []
        (first, seconds), *others = silent
        names = some([member.task.name for member, _ in silent])
        where = "" if others else f" on {first.hostname}"
        return [
            Say(f"{names}: no output for {seconds // 60:g} min, still running{where}", "notice")
        ]

    def verdict(self, awaited: Iterable[Member]) -> tuple[Say, Hung]:
        """What is said before and after the end of a run that has been silent too long."""
        names, how_long = some([member.task.name for member in awaited]), f"{self.timeout:g} s"
        said = Say(f"no output of {names} for {how_long}; what they are doing:", "warning")
        return said, Hung(f"no task wrote anything for {how_long}: taken for hung, and ended")

    def is_too_long(self, awaited: Iterable[Member], now: float) -> bool:
        """Have all of *awaited* been silent for the time that is allowed?"""
        if self.timeout is None:
            return False
        since = [self._since.get(member, now) for member in awaited]
        return bool(since) and now - max(since) >= self.timeout

    def _next_notice(self, member: Member) -> float:
        return 2 * self._named[member] if member in self._named else NOTICE
