"""The nouns of the master: frameworks, agents, offers, tasks with their queue of updates.

What changes is compared by identity, and has no methods that a dataclass would compile in vain at
every start.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tfmesos.json_types import Json
from tfmesos.record import Record

from .resources import Resources, total

TERMINAL = frozenset(
    "TASK_FINISHED TASK_FAILED TASK_KILLED TASK_ERROR TASK_LOST TASK_DROPPED TASK_GONE".split()
)
_ONLY_FOR_PARTITION_AWARE = frozenset(
    "TASK_DROPPED TASK_UNREACHABLE TASK_GONE TASK_GONE_BY_OPERATOR TASK_UNKNOWN".split()
)
NO_RESOURCES = Resources()


class Timing(Record):
    """The waits of a master, in seconds; the defaults are those of a genuine one."""

    heartbeat: float = 15.0
    resend: float = 10.0  # of an unacknowledged update; each further time twice as long
    max_resend: float = 600.0
    default_refusal: float = 5.0
    allocation_interval: float = 0.1  # how soon what was refused for 0 s is offered again
    kill_grace: float = 3.0


@dataclass(eq=False, repr=False, match_args=False)
class Filter:
    """Offers that a framework does not want for a while."""

    role: str
    agent_id: str
    refused: Resources
    expires: float


@dataclass(eq=False, repr=False, match_args=False)
class Framework:
    """One that has subscribed, and what it is sent and owed."""

    id: str
    info: Json
    principal: str | None
    registered: float
    stream: str | None = None  # the id of its event stream; None while it is away
    next_heartbeat: float = 0.0
    removal: float | None = None  # when it is away for good
    recovered: bool = False  # not heard of since the master was restarted
    suppressed: set[str] = field(default_factory=set)
    filters: list[Filter] = field(default_factory=list)
    offers_made: int = 0
    tasks: dict[str, Task] = field(default_factory=dict)  # until their end is acknowledged
    all_tasks: list[Task] = field(default_factory=list)

    def deadlines(self) -> Iterator[float]:
        yield from (f.expires for f in self.filters)
        if self.stream is not None:
            yield self.next_heartbeat
        elif self.removal is not None:
            yield self.removal

    def is_away_for_good(self, now: float) -> bool:
        return self.stream is None and self.removal is not None and self.removal <= now

    @property
    def capabilities(self) -> set[str]:
        return {c["type"] for c in self.info.get("capabilities", []) if "type" in c}

    @property
    def roles(self) -> list[str]:
        if "MULTI_ROLE" in self.capabilities:
            return list(self.info.get("roles", []))
        return [self.info.get("role", "*")]

    @property
    def failover_timeout(self) -> float:
        return max(0.0, float(self.info.get("failover_timeout", 0.0)))

    def can(self, capability: str) -> bool:
        return capability in self.capabilities

    def spelling(self, state: str) -> str:
        """*state* in words this framework knows."""
        aware = self.can("PARTITION_AWARE")
        return "TASK_LOST" if state in _ONLY_FOR_PARTITION_AWARE and not aware else state

    def labels(self, role: str) -> Json:
        """What every resource in an offer to this framework says besides its amount."""
        labels: Json = {} if self.can("RESERVATION_REFINEMENT") else {"role": "*"}
        if self.can("MULTI_ROLE"):
            labels["allocation_info"] = {"role": role}
        return labels


@dataclass(eq=False, repr=False, match_args=False)
class Agent:
    """A machine, and who has what of it."""

    id: str
    hostname: str
    resources: Resources
    attributes: list[Json]
    url: Json
    registered: float
    unreachable_since: float | None = None
    gone: bool = False
    recovering: bool = False  # not heard of since the master was restarted
    gpu_ids: tuple[str, ...] = ()
    tasks: dict[str, Task] = field(default_factory=dict)  # by container id
    offers: dict[str, Offer] = field(default_factory=dict)
    used: Resources = NO_RESOURCES  # by the tasks: kept, for it takes long to add up thousands

    def hold(self, task: Task) -> None:
        self.tasks[task.container_id] = task
        self.used = self.used + task.resources

    def release(self, task: Task) -> None:
        del self.tasks[task.container_id]
        self.used = self.used - task.resources

    def clear(self) -> None:
        self.tasks.clear()
        self.used = NO_RESOURCES

    @property
    def reachable(self) -> bool:
        return self.unreachable_since is None and not (self.gone or self.recovering)

    @property
    def holders(self) -> list[Task | Offer]:
        return [*self.tasks.values(), *self.offers.values()]

    def pick_gpus(self, count: int) -> tuple[str, ...]:
        """That many GPUs that no task has; none if they have no names."""
        if not count:
            return ()
        taken = {gpu for task in self.tasks.values() for gpu in task.gpu_ids}
        return tuple(gpu for gpu in self.gpu_ids if gpu not in taken)[:count]

    @property
    def offered(self) -> Resources:
        return total(offer.resources for offer in self.offers.values())

    @property
    def free(self) -> Resources:
        return self.resources - self.used - self.offered


class Offer(Record):
    id: str
    framework_id: str
    agent_id: str
    role: str
    resources: Resources

    def to_json(self, framework: Framework, agent: Agent) -> Json:
        attributes = {"attributes": agent.attributes} if agent.attributes else {}
        role = {"allocation_info": {"role": self.role}} if framework.can("MULTI_ROLE") else {}
        return {
            "id": {"value": self.id},
            "framework_id": {"value": framework.id},
            "agent_id": {"value": agent.id},
            "hostname": agent.hostname,
            "url": agent.url,
            "resources": self.resources.to_json(framework.labels(self.role)),
            **attributes,
            **role,
        }


@dataclass(eq=False, repr=False, match_args=False)
class Task:
    """A launched task. Its updates leave one at a time, each when the last is acknowledged."""

    info: Json  # the environment in it may hold secrets
    framework: Framework
    agent: Agent
    role: str
    resources: Resources
    container_id: str
    gpu_ids: tuple[str, ...] = ()
    pid: int | None = None
    killed: bool = False
    state: str = "TASK_STAGING"  # as last sent to the framework
    history: list[Json] = field(default_factory=list)
    pending: deque[Json] = field(default_factory=deque)
    resend_at: float = 0.0
    resend_wait: float = 0.0

    @property
    def id(self) -> str:
        return str(self.info["task_id"]["value"])

    @property
    def framework_id(self) -> str:
        return self.framework.id

    @property
    def is_docker(self) -> bool:
        return bool(self.info.get("container", {}).get("type") == "DOCKER")

    @property
    def image(self) -> str | None:
        """The image it runs in; None for a plain process."""
        container = self.info.get("container", {})
        if self.is_docker:
            return str(container.get("docker", {}).get("image", ""))
        image = container.get("mesos", {}).get("image")
        return None if image is None else str(image.get("docker", {}).get("name", ""))

    @property
    def ended(self) -> bool:
        """No process of it is left, though the framework may not have heard of it yet."""
        return self.container_id not in self.agent.tasks

    @property
    def latest(self) -> str:
        """The state it is in, which the framework may not have heard of yet."""
        return str(self.history[-1]["state"]) if self.history else self.state

    @property
    def container_status(self) -> Json:
        if self.pid is None:
            return {}
        address = {"protocol": "IPv4", "ip_address": self.agent.url["address"]["ip"]}
        return {
            "container_status": {
                "container_id": {"value": self.container_id},
                "network_infos": [{"ip_addresses": [address]}],
                **({} if self.is_docker else {"executor_pid": self.pid}),
            }
        }

    def grace(self, default: float) -> float:
        period = self.info.get("kill_policy", {}).get("grace_period")
        return default if period is None else max(0.0, period["nanoseconds"] / 1e9)

    def acknowledge(self, uuid: str) -> bool:
        """Drop the update the framework has seen; false if it is not the one that was sent."""
        if not self.pending or self.pending[0]["uuid"] != uuid or not self.resend_wait:
            return False
        self.pending.popleft()
        self.resend_wait = 0.0
        return True


def status(task_id: str, state: str, source: str, now: float, **optional: Any) -> Json:
    """A TaskStatus, fields in the order of a genuine one, absent ones left out."""
    optional = {key: value for key, value in optional.items() if value is not None}
    message = {"message": optional.pop("message")} if "message" in optional else {}
    reason = {"reason": optional.pop("reason")} if "reason" in optional else {}
    return {
        "task_id": {"value": task_id},
        "state": state,
        **message,
        "source": source,
        **reason,
        **{key: optional.pop(key) for key in ("agent_id", "executor_id") if key in optional},
        "timestamp": now,
        **optional,
    }
