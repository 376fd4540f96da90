"""Tasks of which nothing is known: ask the master for each, again and again, until we know.

After a new subscription these are all of them, and a master that has just come back says nothing
of those whose agents have yet to return. A launch may get lost on its way, too.
"""

from __future__ import annotations

from collections.abc import Iterable

from .actions import Action, Reconcile
from .roster import Member

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds
AFTER_LAUNCH = 30.0  # seconds in which a launched task is usually heard of


class Reconciliation:
    def __init__(self) -> None:
        self._unknown: dict[str, Member] = {}
        self._pause = FIRST_PAUSE
        self.deadline: float | None = None

    def begin(self, members: Iterable[Member], now: float) -> list[Action]:
        self._unknown = {member.task_id: member for member in members}
        self._pause = FIRST_PAUSE
        return self._ask(now)

    def watch(self, launched: Iterable[Member], now: float) -> None:
        """Ask for these if nothing is heard of them in time."""
        self._unknown.update((member.task_id, member) for member in launched)
        if self.deadline is None:
            self.deadline, self._pause = now + AFTER_LAUNCH, FIRST_PAUSE

    def heard_of(self, task_id: str) -> None:
        self._unknown.pop(task_id, None)
        if not self._unknown:
            self.deadline = None

    def ask_if_due(self, now: float) -> list[Action]:
        if self.deadline is None or now < self.deadline:
            return []
        return self._ask(now)

    def _ask(self, now: float) -> list[Action]:
        self._unknown = {id: member for id, member in self._unknown.items() if member.is_live}
        if not self._unknown:
            self.deadline = None
            return []
        self.deadline = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return [Reconcile(tuple((id, member.agent_id) for id, member in self._unknown.items()))]
