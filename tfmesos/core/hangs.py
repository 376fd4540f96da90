"""Tasks that run but write nothing: named after a while, and ended if requested."""

from __future__ import annotations

from collections.abc import Callable

from ..errors import Hung
from ..text import agreeing, join_names
from .actions import Say
from .tasks import Member

NOTICE = 300.0  # seconds of silence before a task is first named; then twice as many, and so on
TOGETHER = 6.0  # seconds within which tasks that fell silent together are reported


class Hangs:
    def __init__(
        self, timeout: float | None, awaited: Callable[[], list[Member]], of_any: bool = False
    ) -> None:
        """*awaited* returns those whose output and end the run is waiting for.

        The *timeout* is one *of any* of them, or of all together.
        """
        self._timeout = timeout
        self._awaited = awaited
        self._of_any = of_any
        self._since: dict[Member, float] = {}
        self._named: dict[Member, float] = {}  # after how many seconds it was named last

    def heard(self, member: Member, seconds: float, now: float) -> None:
        """*member* has been silent for so long; 0: it has just said something."""
        if seconds > 0:
            self._since[member] = now - seconds
        else:
            self.forget(member)

    @property
    def is_any_silent(self) -> bool:
        return bool(self._since)

    def silent_since(self, member: Member) -> float | None:
        return self._since.get(member)

    def forget(self, member: Member) -> None:
        self._since.pop(member, None)
        self._named.pop(member, None)

    @property
    def deadline(self) -> float | None:
        """When the next notice is due, or the end of all."""
        if not self._since:
            return None
        awaited = self._awaited()
        silent = [member for member in awaited if member in self._since]
        times = [self._since[m] + self._next_notice(m) + TOGETHER for m in silent]
        since = [self._since[m] for m in silent]
        if self._timeout is not None and since and self._of_any:
            times.append(min(since) + self._timeout)
        elif self._timeout is not None and since and len(silent) == len(awaited):
            times.append(max(since) + self._timeout)
        return min(times, default=None)

    def tick(self, now: float) -> tuple[list[Say], Hung | None]:
        """Name those that are silent, or find that all of them have been so too long."""
        awaited = self._awaited()
        if not (hung := self._hung(awaited, now)):
            return self._notice(awaited, now), None
        names, how_long = join_names([member.task.name for member in hung]), f"{self._timeout:g} s"
        they_are = agreeing(len(hung), "it is", "they are")
        said = Say(f"no output from {names} for {how_long}; what {they_are} doing:", "warning")
        who = f"{names} wrote nothing" if self._of_any else "no task wrote anything"
        return [said], Hung(f"{who} for {how_long}: considered hung, and ended")

    def _hung(self, awaited: list[Member], now: float) -> list[Member]:
        """The tasks that have been silent too long: one is enough, or it must be all."""
        if self._timeout is None:
            return []
        found = [m for m in awaited if now - self._since.get(m, now) >= self._timeout]
        return found if self._of_any or len(found) == len(awaited) else []

    def _notice(self, awaited: list[Member], now: float) -> list[Say]:
        if not (silent := self._to_be_named(awaited, now)):
            return []
        (first, seconds), *others = silent
        names = join_names([member.task.name for member, _ in silent])
        where = "" if others else f" on {first.hostname}"
        text = f"{names}: no output for {seconds // 60:g} min, still running{where}"
        return [Say(text, "notice")]

    def _to_be_named(self, awaited: list[Member], now: float) -> list[tuple[Member, float]]:
        """The tasks whose silence is due to be reported, with its seconds; each once in a while."""
        silent = [(m, now - self._since[m]) for m in awaited if m in self._since]
        if not any(seconds >= self._next_notice(m) + TOGETHER for m, seconds in silent):
            return []
        due = [(m, seconds) for m, seconds in silent if seconds >= self._next_notice(m)]
        for member, _ in due:
            self._named[member] = self._next_notice(member)
        return due

    def _next_notice(self, member: Member) -> float:
        return 2 * self._named[member] if member in self._named else NOTICE
