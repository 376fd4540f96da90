"""The master: calls of schedulers and news of agents in, effects out.

Everything the embedded Mesos decides is decided here. Nothing here does I/O: the time is an
argument, ids come from the caller, and what is to be done is returned as a list of effects.
After every input whatever is free is offered at once, so there is no allocation round to wait for.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from uuid import UUID

from tfmesos.json_types import Json

from . import validation
from .allocator import OfferBook
from .calls import ids, refuse_seconds
from .effects import Effect, End, Kill, Send
from .entities import TERMINAL, Agent, Framework, Offer, Task, Timing
from .launches import Launches
from .notifications import LATEST, Notifications, event
from .resources import Resources


class MasterState:
    """Frameworks, agents, offers and tasks of one master."""

    def __init__(self, master_info: Json, new_uuid: Callable[[], UUID], timing: Timing) -> None:
        self.info = master_info
        self.timing = timing
        self.frameworks: dict[str, Framework] = {}
        self.completed: dict[str, Framework] = {}
        self.agents: dict[str, Agent] = {}
        self._counters = {"frameworks": 0, "agents": 0}
        self._notify = Notifications(new_uuid, timing)
        self._offers = OfferBook(master_info["id"], self.agents, self.frameworks, timing)
        self._launches = Launches(self.agents, self._offers, self._notify, new_uuid)

    # Agents

    def add_agent(
        self,
        hostname: str,
        resources: Resources,
        attributes: list[Json],
        now: float,
        gpu_ids: tuple[str, ...] = (),
    ) -> tuple[str, list[Effect]]:
        agent_id = f"{self.info['id']}-S{self._count('agents')}"
        address = {**self.info["address"], "hostname": hostname}
        url = {"scheme": "http", "address": address, "path": "/slave(1)"}
        agent = Agent(agent_id, hostname, resources, attributes, url, now, gpu_ids=gpu_ids)
        self.agents[agent_id] = agent
        return agent_id, self._done(now)

    def lose_agent(self, agent_id: str, now: float) -> list[Effect]:
        """The agent does not answer any more; its tasks go on, for all the master knows."""
        self._lose(self.agents[agent_id], now)
        return self._done(now)

    def _lose(self, agent: Agent, now: float) -> None:
        agent.unreachable_since = now
        for task in list(agent.tasks.values()):
            self._notify.unreachable(task, "REASON_AGENT_REMOVED", "health check timed out", now)
        for offer in list(agent.offers.values()):
            self._rescind(offer)
        for framework in self.frameworks.values():
            self._offers.forget(framework, agent)
            self._notify.send(framework, "FAILURE", agent_id={"value": agent.id})

    def _rescind(self, offer: Offer) -> None:
        self._offers.drop(offer)
        framework = self.frameworks[offer.framework_id]
        self._notify.send(framework, "RESCIND", offer_id={"value": offer.id})

    def recover_agent(self, agent_id: str, now: float) -> list[Effect]:
        agent = self.agents[agent_id]
        known, agent.recovering, agent.unreachable_since = agent.recovering, False, None
        for task in self._tasks_of(agent):
            if not (task.ended or known):
                message = "Unreachable agent re-reregistered"
                self._notify.latest(task, "REASON_AGENT_REREGISTERED", message, now)
            self._notify.resume(task, now)
        return self._done(now)

    def remove_agent(self, agent_id: str, now: float) -> list[Effect]:
        """The machine is gone: nothing of its tasks will be heard again."""
        agent = self.agents[agent_id]
        self._lose(agent, now)
        agent.gone = True
        agent.clear()
        return self._done(now)

    # News of tasks

    def task_started(self, container_id: str, pid: int, now: float) -> list[Effect]:
        task = self._container(container_id)
        if task:
            task.pid = pid
            self._notify.update(task, "TASK_STARTING", "SOURCE_EXECUTOR", now)
            self._notify.update(task, "TASK_RUNNING", "SOURCE_EXECUTOR", now)
            if task.killed:
                self._announce_kill(task, now)
        return self._done(now)

    def task_refused(
        self, container_id: str, state: str, reason: str, message: str, now: float
    ) -> list[Effect]:
        """The agent could not start the task, or was told to kill it before it did."""
        task = self._container(container_id)
        if task:
            self._release(task)
            self._notify.update(task, state, "SOURCE_AGENT", now, reason=reason, message=message)
        return self._done(now)

    def task_ended(
        self,
        container_id: str,
        succeeded: bool,
        message: str,
        now: float,
        reason: str | None = None,
    ) -> list[Effect]:
        """The process of a task has ended; with a *reason* it was the agent's doing."""
        task = self._container(container_id)
        if task:
            self._release(task)
            state = "TASK_FINISHED" if succeeded else "TASK_FAILED"
            state = "TASK_KILLED" if task.killed else state
            source = "SOURCE_AGENT" if reason else "SOURCE_EXECUTOR"
            self._notify.update(task, state, source, now, message=message, reason=reason)
        return self._done(now)

    def _release(self, task: Task) -> None:
        """Nothing of it runs any more: what it held is free, and its environment is not kept."""
        task.agent.release(task)
        task.info = {**task.info, "command": {**task.info["command"], "environment": {}}}

    # Subscriptions

    def subscribe(self, call: Json, stream: str, principal: str | None, now: float) -> list[Effect]:
        info = call["subscribe"]["framework_info"]
        problem = validation.framework_problem(info)
        if info.get("id", {}).get("value") in self.completed:
            problem = "Framework has been removed"
        if problem:
            return [Send(stream, event("ERROR", message=problem)), End(stream)]
        framework = self._framework(info, principal, now)
        self._leave(framework, "Framework failed over")
        framework.info, framework.principal = info, principal
        framework.stream, framework.removal, framework.recovered = stream, None, False
        framework.suppressed = set(call["subscribe"].get("suppressed_roles", []))
        framework.filters = []
        self._welcome(framework, now)
        return self._done(now)

    def _framework(self, info: Json, principal: str | None, now: float) -> Framework:
        framework_id = info.get("id", {}).get("value")
        if framework_id is None:
            framework_id = f"{self.info['id']}-{self._count('frameworks'):04}"
        new = Framework(framework_id, info, principal, now)
        return self.frameworks.setdefault(framework_id, new)

    def _welcome(self, framework: Framework, now: float) -> None:
        self._notify.send(
            framework,
            "SUBSCRIBED",
            framework_id={"value": framework.id},
            heartbeat_interval_seconds=self.timing.heartbeat,
            master_info=self.info,
        )
        framework.next_heartbeat = now
        self._beat(framework, now)
        for task in framework.tasks.values():
            self._notify.resume(task, now)

    def restart(self, master_id: str, now: float) -> list[Effect]:
        """Be another master with the same registry: frameworks and agents must come back."""
        self.info = {**self.info, "id": master_id}
        self._offers.restart(master_id)
        self._counters = dict.fromkeys(self._counters, 0)
        for agent in self.agents.values():
            agent.recovering = True
        for framework in self.frameworks.values():
            framework.stream, framework.recovered = None, True
            framework.filters = []
            framework.removal = now + framework.failover_timeout
        return self._done(now)

    def disconnected(self, stream: str, now: float) -> list[Effect]:
        """The connection of a stream is gone; no news if the stream was ended before."""
        for framework in list(self.frameworks.values()):
            if framework.stream == stream:
                framework.stream = None
                self._leave(framework, None)
                framework.removal = now + framework.failover_timeout
                self._remove_if_due(framework, now)
        return self._done(now)

    def _leave(self, framework: Framework, error: str | None) -> None:
        if framework.stream is not None and error is not None:
            self._notify.send(framework, "ERROR", message=error)
            self._notify.effects.append(End(framework.stream))
        for offer in self._offers.of(framework):
            self._offers.drop(offer)

    def teardown(self, framework_id: str, now: float) -> list[Effect]:
        if framework_id in self.frameworks:
            self._remove(self.frameworks[framework_id])
        return self._done(now)

    def _remove(self, framework: Framework) -> None:
        """Kill what it runs; what its tasks hold is free when their processes are gone."""
        self._leave(framework, None)
        if framework.stream is not None:
            self._notify.effects.append(End(framework.stream))
            framework.stream = None
        for task in framework.tasks.values():
            if not (task.ended or task.killed):
                self._kill(task)
        self.completed[framework.id] = self.frameworks.pop(framework.id)
        if len(self.completed) > _COMPLETED:
            del self.completed[next(iter(self.completed))]

    # Calls

    def handle(self, framework: Framework, call: Json, now: float) -> list[Effect]:
        """Carry out any call but SUBSCRIBE."""
        kind = call["type"].lower()
        getattr(self, f"_on_{kind}")(framework, call.get(kind, {}), now)
        return self._done(now)

    def take_back(self, stream: str, now: float) -> list[Effect]:
        """A call on this stream could not be read; what it may have accepted is not taken."""
        for framework in self.frameworks.values():
            for offer in self._offers.of(framework) if framework.stream == stream else ():
                self._rescind(offer)
                self._offers.refuse(offer, offer.resources, None, now)
        return self._done(now)

    def _on_teardown(self, framework: Framework, _body: Json, _now: float) -> None:
        self._remove(framework)

    def _on_suppress(self, framework: Framework, body: Json, _now: float) -> None:
        framework.suppressed |= set(body.get("roles") or framework.roles)

    def _on_revive(self, framework: Framework, body: Json, _now: float) -> None:
        self._offers.revive(framework, body.get("roles") or framework.roles)

    def _on_decline(self, framework: Framework, body: Json, now: float) -> None:
        mine = {offer.id: offer for offer in self._offers.of(framework)}
        for offer_id in ids(body.get("offer_ids", [])):
            if offer_id in mine:
                offer = mine[offer_id]
                self._offers.drop(offer)
                self._offers.refuse(offer, offer.resources, refuse_seconds(body), now)

    def _on_accept(self, framework: Framework, body: Json, now: float) -> None:
        self._launches.accept(framework, body, now)

    def _on_kill(self, framework: Framework, body: Json, now: float) -> None:
        task = framework.tasks.get(body["task_id"]["value"])
        if task is None or not task.agent.reachable:
            self._notify.reconcile(framework, body, self.agents, now)
        elif not (task.killed or task.ended):
            self._kill(task)
            if task.pid is not None:
                self._announce_kill(task, now)

    def _kill(self, task: Task) -> None:
        task.killed = True
        self._notify.effects.append(Kill(task.container_id, task.grace(self.timing.kill_grace)))

    def _announce_kill(self, task: Task, now: float) -> None:
        if task.framework.can("TASK_KILLING_STATE"):
            self._notify.update(task, "TASK_KILLING", "SOURCE_EXECUTOR", now)

    def _on_acknowledge(self, framework: Framework, body: Json, now: float) -> None:
        task = framework.tasks.get(body["task_id"]["value"])
        uuid = base64.b64encode(body["uuid"]).decode()
        if task is None or not task.agent.reachable or not task.acknowledge(uuid):
            return
        if task.state in TERMINAL and not task.pending:
            del framework.tasks[task.id]
        self._notify.send_next(task, now)

    def _on_reconcile(self, framework: Framework, body: Json, now: float) -> None:
        for wanted in body.get("tasks", []):
            self._notify.reconcile(framework, wanted, self.agents, now)
        if not body.get("tasks"):
            for task in framework.tasks.values():
                if task.agent.reachable and task.state not in TERMINAL:
                    self._notify.latest(task, *LATEST, now)

    # Time

    def tick(self, now: float) -> list[Effect]:
        """Do what is due: heartbeats, updates to send again, frameworks away for too long."""
        for framework in list(self.frameworks.values()):
            self._beat(framework, now)
            self._remove_if_due(framework, now)
        self._notify.send_due(now)
        return self._done(now)

    def next_tick(self) -> float | None:
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterable[float]:
        if (resend := self._notify.next_resend()) is not None:
            yield resend
        for framework in self.frameworks.values():
            yield from framework.deadlines()

    def _beat(self, framework: Framework, now: float) -> None:
        if framework.stream is not None and framework.next_heartbeat <= now:
            self._notify.send(framework, "HEARTBEAT")
            framework.next_heartbeat = now + self.timing.heartbeat

    def _remove_if_due(self, framework: Framework, now: float) -> None:
        if framework.is_away_for_good(now):
            self._remove(framework)

    def _done(self, now: float) -> list[Effect]:
        """End every input: offer what is free, hand over what is to be done."""
        for framework_id, offers in self._offers.make(now).items():
            framework = self.frameworks[framework_id]
            listed = [o.to_json(framework, self.agents[o.agent_id]) for o in offers]
            self._notify.send(framework, "OFFERS", offers=listed)
        return self._notify.take()

    # Small things

    def _container(self, container_id: str) -> Task | None:
        for agent in self.agents.values():
            if container_id in agent.tasks:
                return agent.tasks[container_id]
        return None

    def _tasks_of(self, agent: Agent) -> list[Task]:
        known = (task for f in self.frameworks.values() for task in f.tasks.values())
        return [task for task in known if task.agent is agent]

    def _count(self, name: str) -> int:
        number = self._counters[name]
        self._counters[name] += 1
        return number


_COMPLETED = 50  # frameworks that are remembered, as by a genuine master
