"""What the master tells its frameworks, and how often: events, and updates until acknowledged."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from heapq import heappop, heappush
from itertools import count
from typing import Any
from uuid import UUID

from tfmesos.json_types import Json

from .effects import Effect, Send
from .entities import Agent, Framework, Task, Timing, status

LATEST = ("REASON_RECONCILIATION", "Reconciliation: Latest task state")


class Notifications:
    """Collects the effects of one input to the master."""

    def __init__(self, new_uuid: Callable[[], UUID], timing: Timing) -> None:
        self.effects: list[Effect] = []
        self._new_uuid = new_uuid
        self._timing = timing
        self._resends: list[tuple[float, int, Task]] = []  # a heap; some are acknowledged by now
        self._number = count()

    def take(self) -> list[Effect]:
        effects, self.effects = self.effects, []
        return effects

    def send(self, framework: Framework, kind: str, **body: Any) -> None:
        if framework.stream is not None:
            self.effects.append(Send(framework.stream, event(kind, **body)))

    def update(self, task: Task, state: str, source: str, now: float, **optional: Any) -> None:
        """Queue an update of the agent, which is sent until it is acknowledged."""
        container = task.container_status if source == "SOURCE_EXECUTOR" else {}
        update = status(
            task.id,
            task.framework.spelling(state),
            source,
            now,
            agent_id={"value": task.agent.id},
            executor_id={"value": task.id},
            uuid=base64.b64encode(self._new_uuid().bytes).decode(),
            **optional,
            **container,
        )
        task.pending.append(update)
        task.history.append(update)
        self.send_next(task, now)

    def send_next(self, task: Task, now: float) -> None:
        """Send the oldest update, unless it is on its way already."""
        if not task.resend_wait:
            self._send_update(task, self._timing.resend, now)

    def next_resend(self) -> float | None:
        """When the first update is to be sent again, if it is not acknowledged before."""
        while self._resends and not self._is_unanswered(*self._resends[0]):
            heappop(self._resends)
        return self._resends[0][0] if self._resends else None

    def send_due(self, now: float) -> None:
        while (due := self.next_resend()) is not None and due <= now:
            _at, _number, task = heappop(self._resends)
            self._send_update(task, min(task.resend_wait * 2, self._timing.max_resend), now)

    def _is_unanswered(self, at: float, _number: int, task: Task) -> bool:
        return bool(task.resend_wait) and task.resend_at == at

    def resume(self, task: Task, now: float) -> None:
        """The framework or the agent is back: what is pending goes out at once."""
        task.resend_wait = 0.0
        self.send_next(task, now)

    def _send_update(self, task: Task, wait: float, now: float) -> None:
        if task.pending and task.framework.stream is not None and task.agent.reachable:
            task.resend_wait, task.resend_at = wait, now + wait
            heappush(self._resends, (task.resend_at, next(self._number), task))
            task.state = task.pending[0]["state"]
            self._tell(task.framework, task.pending[0])

    def latest(self, task: Task, reason: str, message: str, now: float) -> None:
        answer = status(
            task.id,
            task.state,
            "SOURCE_MASTER",
            now,
            reason=reason,
            message=message,
            agent_id={"value": task.agent.id},
            **task.container_status,
        )
        self._tell(task.framework, answer)

    def unreachable(self, task: Task, reason: str, message: str, now: float) -> None:
        since = task.agent.unreachable_since or now
        answer = status(
            task.id,
            "TASK_UNREACHABLE",
            "SOURCE_MASTER",
            now,
            reason=reason,
            message=message,
            agent_id={"value": task.agent.id},
            unreachable_time={"nanoseconds": round(since * 1e9)},
        )
        self._tell(task.framework, answer)

    def unknown(self, framework: Framework, wanted: Json, to_agent: bool, now: float) -> None:
        answer = status(
            wanted["task_id"]["value"],
            "TASK_GONE" if to_agent else "TASK_UNKNOWN",
            "SOURCE_MASTER",
            now,
            message="Reconciliation: Task is unknown" + (" to the agent" if to_agent else ""),
            reason="REASON_RECONCILIATION",
            agent_id=wanted.get("agent_id"),
        )
        self._tell(framework, answer)

    def reconcile(
        self, framework: Framework, wanted: Json, agents: Mapping[str, Agent], now: float
    ) -> None:
        task = framework.tasks.get(wanted["task_id"]["value"])
        at_hand = task is not None and task.agent.reachable
        if not at_hand and any(agent.recovering for agent in agents.values()):
            return  # it may be known to an agent that is not back yet
        if task is None:
            agent = agents.get(wanted.get("agent_id", {}).get("value", ""))
            self.unknown(framework, wanted, agent is not None and agent.reachable, now)
        elif task.agent.reachable:
            self.latest(task, *LATEST, now)
        else:
            message = "Reconciliation: Task is unreachable"
            self.unreachable(task, "REASON_RECONCILIATION", message, now)

    def reject(self, framework: Framework, info: Json, state: str, now: float, **why: str) -> None:
        task_id, where = info["task_id"]["value"], {"agent_id": info["agent_id"]}
        self._tell(framework, status(task_id, state, "SOURCE_MASTER", now, **why, **where))

    def _tell(self, framework: Framework, update: Json) -> None:
        self.send(
            framework, "UPDATE", status=update | {"state": framework.spelling(update["state"])}
        )


def event(kind: str, **body: Any) -> Json:
    return {"type": kind, kind.lower(): body} if body else {"type": kind}
