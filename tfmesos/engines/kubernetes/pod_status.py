"""The status of a pod in the API, and what it means for the task in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...json_types import Json
from ...record import Record
from ...text import shortened

STOPPED_BY_QUEUE = "TerminationTarget"  # the condition of a pod that Kueue stops
CONTAINER = "tensorflow"  # as TFJob calls it; the one container of ours in each pod


class PodSeen(Record):
    """A pod as one event of a watch shows it. Events are merged: only the last one counts."""

    name: str
    phase: str = "Pending"
    node: str = ""  # empty until it is scheduled
    unschedulable: str = ""  # the scheduler's words
    waiting: str = ""  # the reason why the container does not run yet
    detail: str = ""  # the message with that reason, or with the end
    is_running: bool = False
    is_cut_off: bool = False  # its node is silent
    code: int | None = None  # of the container, if it has ended
    reason: str = ""  # of that, or of the end of the pod
    is_deleting: bool = False
    disruption: str = ""  # who deletes it, if the server says so

    @property
    def is_scheduled(self) -> bool:
        return bool(self.node)

    @property
    def has_ended(self) -> bool:
        """The container state of a pod that has ended may say "running" forever."""
        return self.phase in ("Succeeded", "Failed") or self.code is not None


def read(pod: Mapping[str, Any]) -> PodSeen:
    """The pod from the JSON of the API; malformed fields are ignored."""
    metadata, spec, status = (_part(pod, name) for name in ("metadata", "spec", "status"))
    conditions = {str(c.get("type")): c for c in _parts(status, "conditions")}
    state = _state(status)
    waiting, ended = _part(state, "waiting"), _part(state, "terminated")
    scheduled = conditions.get("PodScheduled", {})
    is_refused = scheduled.get("status") == "False"
    code = ended.get("exitCode")
    phase = str(status.get("phase") or "Pending")
    return PodSeen(
        name=str(metadata.get("name")),
        phase=phase,
        node=_node(spec, status, scheduled),
        unschedulable=shortened(str(scheduled.get("message") or ""), 1000) if is_refused else "",
        waiting=str(waiting.get("reason") or ""),
        detail=_detail(status, waiting, ended),
        is_running="running" in state and phase == "Running",
        is_cut_off=_is(conditions, "Ready", "False") and _is(conditions, "ContainersReady", "True"),
        code=code if isinstance(code, int) else None,
        reason=str(status.get("reason") or ended.get("reason") or ""),
        is_deleting=bool(metadata.get("deletionTimestamp")),
        disruption=_disruption(conditions),
    )


def _node(spec: Json, status: Json, scheduled: Mapping[str, Any]) -> str:
    name = spec.get("nodeName") or status.get("hostIP")
    return str(name or ("?" if scheduled.get("status") == "True" else ""))


def _state(status: Json) -> Json:
    """The state of our container: a mesh may have added others."""
    found = _parts(status, "containerStatuses")
    ours = [one for one in found if one.get("name") == CONTAINER] or found
    return _part(ours[0], "state") if ours else {}


def _detail(status: Json, waiting: Json, ended: Json) -> str:
    """The container of a pod that was ended as a whole knows little."""
    if status.get("reason"):
        return _words(status, waiting, ended)
    return _words(waiting, ended, status)


def _words(*places: Mapping[str, Any]) -> str:
    found = (str(place["message"]) for place in places if place.get("message"))
    return shortened(next(found, ""), 300)


def _is(conditions: Mapping[str, Json], name: str, value: str) -> bool:
    return conditions.get(name, {}).get("status") == value


def _disruption(conditions: Mapping[str, Json]) -> str:
    """Servers since 1.26 say who wants a pod to go, and so does Kueue."""
    if _is(conditions, STOPPED_BY_QUEUE, "True"):
        return STOPPED_BY_QUEUE
    found = conditions.get("DisruptionTarget", {})
    return str(found.get("reason") or "") if found.get("status") == "True" else ""


def _part(tree: Mapping[str, Any], name: str) -> Json:
    found = tree.get(name)
    return found if isinstance(found, dict) else {}


def _parts(tree: Mapping[str, Any], name: str) -> list[Json]:
    found = tree.get(name)
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
