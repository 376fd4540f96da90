"""Maintenance that the operator has scheduled: when the tasks of an agent are to leave it.

The master repeats its request for an agent once our refusal has run out, if the schedule still
says so. So nothing has to be remembered until the time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ...core.events import NodeDrained, NodeWanted
from .actions import DeclineInverse
from .gang import LONG_REFUSAL
from .offers import InverseOffer

MARGIN = 60.0  # seconds between the end of the tasks and the maintenance
ASK_AGAIN = 10.0  # seconds; the tasks that are to leave may not have been running
PLANNED = "has to leave before the scheduled maintenance"


Output = NodeWanted | NodeDrained | DeclineInverse


class Maintenance:
    def __init__(self, grace: float) -> None:
        """*grace* is the time that tasks have to end."""
        self._before = grace + MARGIN
        self._announced: set[str] = set()  # agents
        self._staying: set[str] = set()  # tasks that began after it was time to leave

    def launched(self, task_id: str, down_in: float | None) -> None:
        """If it was time to leave, there was no other place for this task."""
        if down_in is not None and down_in <= self._before:
            self._staying.add(task_id)

    def requested(
        self, offers: Iterable[InverseOffer], tasks_on: Callable[[list[str]], tuple[str, ...]]
    ) -> list[Output]:
        todo: list[Output] = []
        for offer in offers:
            todo += self._answer(offer, tasks_on([offer.agent_id]))
        return todo

    def _answer(self, offer: InverseOffer, tasks: tuple[str, ...]) -> list[Output]:
        if offer.down_in is None:
            return [DeclineInverse((offer.id,), LONG_REFUSAL)]
        todo: list[Output] = []
        if tasks and offer.agent_id not in self._announced:
            self._announced.add(offer.agent_id)
            todo.append(NodeWanted(tasks, offer.down_in))
        left = offer.down_in - self._before
        if left <= 0:
            leaving = [task_id for task_id in tasks if task_id not in self._staying]
            todo += [NodeDrained(task_id, PLANNED, is_notice=True) for task_id in leaving]
        return [*todo, DeclineInverse((offer.id,), left if left > 0 else ASK_AGAIN)]
