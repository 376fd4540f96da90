"""ACCEPT: offers are taken all or none, tasks each on its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from tfmesos.json_types import Json

from . import validation
from .allocator import OfferBook
from .calls import ids, refuse_seconds, task_infos
from .effects import Launch
from .entities import Agent, Framework, Offer, Task
from .notifications import Notifications
from .resources import Resources, from_json, total


class Launches:
    def __init__(
        self,
        agents: Mapping[str, Agent],
        offers: OfferBook,
        notifications: Notifications,
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._agents, self._offers, self._notify = agents, offers, notifications
        self._new_uuid = new_uuid

    def accept(self, framework: Framework, body: Json, now: float) -> None:
        """Launch what is valid, refuse the rest in words, take back what is left over."""
        mine = {offer.id: offer for offer in self._offers.of(framework)}
        named = ids(body.get("offer_ids", []))
        offers = [mine[offer_id] for offer_id in dict.fromkeys(named) if offer_id in mine]
        problem = validation.offers_problem(named, mine)
        for offer in offers:
            self._offers.drop(offer)
        if problem:
            self._drop(framework, body, f"Task launched with invalid offers: {problem}", now)
        else:
            rest = self._launch_valid(framework, offers, body, now)
            self._offers.refuse(offers[0], rest, refuse_seconds(body), now)

    def _drop(self, framework: Framework, body: Json, message: str, now: float) -> None:
        why = {"reason": "REASON_INVALID_OFFERS", "message": message}
        for info, _grouped in task_infos(body):
            self._notify.reject(framework, info, "TASK_DROPPED", now, **why)

    def _launch_valid(
        self, framework: Framework, offers: Sequence[Offer], body: Json, now: float
    ) -> Resources:
        role, agent = offers[0].role, self._agents[offers[0].agent_id]
        rest = total(offer.resources for offer in offers)
        for info, grouped in task_infos(body):
            problem = validation.task_problem(info, agent.id, role, rest, framework.tasks)
            if grouped:
                problem = "The embedded Mesos does not launch task groups"
            if problem:
                why = {"reason": "REASON_TASK_INVALID", "message": problem}
                self._notify.reject(framework, info, "TASK_ERROR", now, **why)
            else:
                rest = rest - self._launch(framework, agent, role, info).resources
        return rest

    def _launch(self, framework: Framework, agent: Agent, role: str, info: Json) -> Task:
        resources = from_json(info.get("resources", []), role)
        gpus = agent.pick_gpus(int(resources.scalar("gpus")))
        task = Task(info, framework, agent, role, resources, str(self._new_uuid()), gpus)
        framework.tasks[task.id] = task
        agent.hold(task)
        framework.all_tasks.append(task)
        self._notify.effects.append(Launch(task))
        return task
