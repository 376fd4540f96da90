"""Reconciles unknown tasks: asks the master for each of them until its state is known.

After a new subscription these are all of them, and a master that has just come back does not report
tasks whose agents have yet to return. A launch can get lost, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .actions import Reconcile

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0  # seconds
AFTER_LAUNCH = 30.0  # seconds within which a launched task usually reports


class Reconciliation:
    def __init__(self) -> None:
        self._unknown: dict[str, None] = {}  # task ids, in order
        self._pause = FIRST_PAUSE
        self.deadline: float | None = None

    def begin(self, live: Mapping[str, str], now: float) -> list[Reconcile]:
        """Ask for every task of *live*, which maps task ids to agent ids."""
        self._unknown = dict.fromkeys(live)
        self._pause = FIRST_PAUSE
        return self.ask(live, now)

    def watch(self, launched: Iterable[str], now: float) -> None:
        """Ask for these if no update about them arrives in time."""
        self._unknown.update(dict.fromkeys(launched))
        if self.deadline is None:
            self.deadline = now + AFTER_LAUNCH
            self._pause = FIRST_PAUSE

    def heard_of(self, task_id: str) -> None:
        self._unknown.pop(task_id, None)
        if not self._unknown:
            self.deadline = None

    def ask(self, live: Mapping[str, str], now: float) -> list[Reconcile]:
        self._unknown = {task_id: None for task_id in self._unknown if task_id in live}
        if not self._unknown:
            self.deadline = None
            return []
        self.deadline = now + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE)
        return [Reconcile(tuple((task_id, live[task_id]) for task_id in self._unknown))]
