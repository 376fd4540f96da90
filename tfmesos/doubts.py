"""Ends of tasks that one side has reported and the other has not confirmed yet.

Mesos and the runner both tell of an end, in any order, and the runner knows more (the exit
code, the last lines): so whoever comes first is believed only after a while.
"""

from __future__ import annotations

from dataclasses import dataclass

from .roster import Member


@dataclass(frozen=True, slots=True)
class Doubt:
    reason: str
    code: int
    until: float | None  # None: until the other side speaks
    is_partition: bool = False  # the task may be well, only out of reach


class Doubts:
    def __init__(self) -> None:
        self._open: dict[Member, Doubt] = {}

    def __contains__(self, member: Member) -> bool:
        return member in self._open

    def raise_about(self, member: Member, doubt: Doubt) -> None:
        self._open[member] = doubt

    def about(self, member: Member) -> Doubt | None:
        return self._open.get(member)

    def settle(self, member: Member) -> None:
        self._open.pop(member, None)

    def due(self, now: float) -> list[tuple[Member, Doubt]]:
        """Those that nobody has contradicted in time."""
        return [(m, d) for m, d in self._open.items() if d.until is not None and now >= d.until]

    @property
    def deadline(self) -> float | None:
        times = (doubt.until for doubt in self._open.values())
        return min((time for time in times if time is not None), default=None)
