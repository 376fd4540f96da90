"""What a node of the cluster has for pods, and whether there is room for more tasks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...config.job import Resources, Task
from ...core.actions import Say
from ...core.events import RoomSeen
from ...json_types import Json
from ..elastic import room_for
from .actions import CountRoom
from .events import NodeRoom
from .quota import amount

_MIB = 2**20
_CLOSED = ("NoSchedule", "NoExecute")  # effects of taints
_OVER = ("Succeeded", "Failed")
CANNOT_LOOK = (
    "the run cannot see whether there is room for more tasks: that needs the right to list the "
    "pods and nodes of the cluster; grow it with tfrun update"
)


def node_room(node: Json, gpu_resource: str) -> NodeRoom:
    """Of the JSON of the API."""
    metadata, status = node.get("metadata") or {}, node.get("status") or {}
    return NodeRoom(
        str(metadata.get("name")), _resources(status.get("allocatable") or {}, gpu_resource)
    )


def _resources(there: Json, gpu_resource: str) -> Resources:
    def of(name: str, per: float = 1) -> float:
        return (amount(str(there.get(name, 0))) or 0.0) / per

    return Resources.of(
        of("cpu"), of("memory", _MIB) // 1, of(gpu_resource), of("ephemeral-storage", _MIB) // 1
    )


def free_rooms(
    nodes: Iterable[Json], pods: Iterable[Json], gpu_resource: str
) -> tuple[NodeRoom, ...]:
    """What *pods* leave free on the nodes that take others."""
    used: dict[str, list[Resources]] = {}
    for pod in pods:
        if (pod.get("status") or {}).get("phase") not in _OVER:
            spec = pod.get("spec") or {}
            used.setdefault(str(spec.get("nodeName")), []).append(_requests(spec, gpu_resource))
    rooms = (node_room(node, gpu_resource) for node in nodes if _takes_pods(node))
    return tuple(
        one.replace(room=one.room.minus(Resources.sum(used.get(one.name, ())))) for one in rooms
    )


def _requests(spec: Json, gpu_resource: str) -> Resources:
    asked = [one.get("resources") or {} for one in spec.get("containers") or ()]
    return Resources.sum(_resources(one.get("requests") or {}, gpu_resource) for one in asked)


def _takes_pods(node: Json) -> bool:
    """Every taint counts, even if a template tolerates it, so no task is started for nothing."""
    spec, status = node.get("spec") or {}, node.get("status") or {}
    conditions = {one.get("type"): one.get("status") for one in status.get("conditions") or ()}
    is_closed = any(one.get("effect") in _CLOSED for one in spec.get("taints") or ())
    return conditions.get("Ready") == "True" and not (spec.get("unschedulable") or is_closed)


def fits(tasks: Sequence[Task], nodes: Sequence[NodeRoom]) -> bool:
    """Is there room for all of them at once? Constraints are left to the scheduler."""
    left = [one.room for one in nodes]
    for task in sorted(tasks, key=lambda task: task.job.needs, reverse=True):
        needs = task.job.needs
        found = next((i for i, room in enumerate(left) if not room.shortage(needs)), None)
        if found is None:
            return False
        left[found] = left[found].minus(needs)
    return True


class RoomSearch:
    """A request for room, and its answer."""

    def __init__(self) -> None:
        self._tasks: tuple[Task, ...] = ()
        self._has_said = False

    def begin(self, tasks: tuple[Task, ...]) -> CountRoom:
        self._tasks = tasks
        return CountRoom()

    def end(self, nodes: Sequence[NodeRoom] | None) -> list[RoomSeen | Say]:
        if nodes is not None:
            return [RoomSeen(room_for(self._tasks, lambda some: fits(some, nodes)))]
        is_news = not self._has_said
        self._has_said = True
        return [Say(CANNOT_LOOK, "warning")] if is_news else []
