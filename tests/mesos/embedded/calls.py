"""From the body of a request to a valid Call, or to the words a Mesos master refuses it with."""

from __future__ import annotations

import base64
import json
from typing import Any

from tfmesos.json_types import Json
from tfmesos.shared import json_reader


class Malformed(Exception):
    """The text of a 400 response."""


# A field is (kind, required). A kind is a Python type name of JSON, "bytes", an enum as a
# frozenset of its names, or the name of another message; "[kind]" is a list of them.
Field = tuple[Any, bool]

_VALUE_TYPES = frozenset({"SCALAR", "RANGES", "SET", "TEXT"})
SUPPORTED_CALLS = frozenset(
    "SUBSCRIBE ACCEPT DECLINE REVIVE SUPPRESS KILL ACKNOWLEDGE RECONCILE TEARDOWN".split()
)
_OTHER_CALLS = frozenset(
    "ACCEPT_INVERSE_OFFERS DECLINE_INVERSE_OFFERS SHUTDOWN ACKNOWLEDGE_OPERATION_STATUS "
    "RECONCILE_OPERATIONS MESSAGE REQUEST UPDATE_FRAMEWORK".split()
)
_OPERATIONS = frozenset(
    "LAUNCH LAUNCH_GROUP RESERVE UNRESERVE CREATE DESTROY GROW_VOLUME SHRINK_VOLUME "
    "CREATE_DISK DESTROY_DISK".split()
)

_SCHEMA: dict[str, dict[str, Field]] = {
    "Id": {"value": ("string", True)},
    "Call": {
        "framework_id": ("Id", False),
        "type": (SUPPORTED_CALLS | _OTHER_CALLS, False),
        "subscribe": ("Subscribe", False),
        "accept": ("Accept", False),
        "decline": ("Decline", False),
        "revive": ("Roles", False),
        "suppress": ("Roles", False),
        "kill": ("Kill", False),
        "acknowledge": ("Acknowledge", False),
        "reconcile": ("Reconcile", False),
    },
    "Subscribe": {
        "framework_info": ("FrameworkInfo", True),
        "suppressed_roles": ("[string]", False),
    },
    "FrameworkInfo": {
        "user": ("string", True),
        "name": ("string", True),
        "id": ("Id", False),
        "failover_timeout": ("number", False),
        "checkpoint": ("boolean", False),
        "role": ("string", False),
        "roles": ("[string]", False),
        "hostname": ("string", False),
        "principal": ("string", False),
        "webui_url": ("string", False),
        "capabilities": ("[Capability]", False),
        "offer_filters": ("{OfferFilters}", False),
    },
    "OfferFilters": {"min_allocatable_resources": ("MinAllocatableResources", False)},
    "MinAllocatableResources": {"quantities": ("[Quantities]", False)},
    "Quantities": {"quantities": ("{Scalar}", False)},
    "Capability": {"type": ("string", False)},
    "Accept": {
        "offer_ids": ("[Id]", False),
        "operations": ("[Operation]", False),
        "filters": ("Filters", False),
    },
    "Operation": {
        "type": (_OPERATIONS, False),
        "launch": ("Launch", False),
        "launch_group": ("LaunchGroup", False),
    },
    "Launch": {"task_infos": ("[TaskInfo]", False)},
    "LaunchGroup": {"task_group": ("TaskGroup", True)},
    "TaskGroup": {"tasks": ("[TaskInfo]", False)},
    "Filters": {"refuse_seconds": ("number", False)},
    "TaskInfo": {
        "name": ("string", True),
        "task_id": ("Id", True),
        "agent_id": ("Id", True),
        "resources": ("[Resource]", False),
        "executor": ("object", False),
        "command": ("CommandInfo", False),
        "container": ("ContainerInfo", False),
        "kill_policy": ("KillPolicy", False),
    },
    "Resource": {
        "name": ("string", True),
        "type": (_VALUE_TYPES, True),
        "scalar": ("Scalar", False),
        "ranges": ("Ranges", False),
        "set": ("Set", False),
        "role": ("string", False),
        "allocation_info": ("AllocationInfo", False),
        "reservations": ("[Reservation]", False),
    },
    "Scalar": {"value": ("number", True)},
    "Ranges": {"range": ("[Range]", False)},
    "Range": {"begin": ("number", True), "end": ("number", True)},
    "Set": {"item": ("[string]", False)},
    "AllocationInfo": {"role": ("string", False)},
    "Reservation": {"role": ("string", False)},
    "CommandInfo": {
        "value": ("string", False),
        "shell": ("boolean", False),
        "arguments": ("[string]", False),
        "user": ("string", False),
        "uris": ("[Uri]", False),
        "environment": ("Environment", False),
    },
    "Uri": {"value": ("string", True)},
    "Environment": {"variables": ("[Variable]", False)},
    "Variable": {"name": ("string", True), "value": ("string", False)},
    "ContainerInfo": {
        "type": (frozenset({"DOCKER", "MESOS"}), True),
        "docker": ("object", False),
        "mesos": ("object", False),
        "volumes": ("[object]", False),
    },
    "KillPolicy": {"grace_period": ("Duration", False)},
    "Duration": {"nanoseconds": ("number", True)},
    "Decline": {"offer_ids": ("[Id]", False), "filters": ("Filters", False)},
    "Roles": {"roles": ("[string]", False)},
    "Kill": {
        "task_id": ("Id", True),
        "agent_id": ("Id", False),
        "kill_policy": ("KillPolicy", False),
    },
    "Acknowledge": {
        "agent_id": ("Id", True),
        "task_id": ("Id", True),
        "uuid": ("bytes", True),
    },
    "Reconcile": {"tasks": ("[ReconcileTask]", False)},
    "ReconcileTask": {"task_id": ("Id", True), "agent_id": ("Id", False)},
}

_NEEDS_BODY = frozenset({"SUBSCRIBE", "ACCEPT", "DECLINE", "KILL", "ACKNOWLEDGE", "RECONCILE"})


def parse(body: bytes) -> Json:
    """The Call in *body*, with unknown fields dropped and bytes decoded; raise Malformed."""
    value = _load(body)
    if not isinstance(value, dict):
        raise Malformed("Failed to convert JSON into Call protobuf: Expecting a JSON object")
    missing: list[str] = []
    call = _message(value, "Call", "", missing)
    if missing:
        fields = ", ".join(missing)
        raise Malformed(
            f"Failed to convert JSON into Call protobuf: Missing required fields: {fields}"
        )
    _check(call)
    return call


def _load(body: bytes) -> Any:
    try:
        return json_reader.read(body)
    except json.JSONDecodeError as error:
        line, near = error.lineno, error.doc[error.pos :][:100]
    except ValueError:
        line, near = 1, ""
    raise Malformed(f"Failed to parse body into JSON: syntax error at line {line} near: {near}")


def _message(value: Json, message: str, path: str, missing: list[str]) -> Json:
    result: Json = {}
    for name, (kind, required) in _SCHEMA[message].items():
        where = f"{path}{name}"
        converted = None
        if value.get(name) is not None:
            converted = _convert(value[name], kind, name, where, missing)
        if converted is not None:
            result[name] = converted
        elif required:
            missing.append(where)
    return result


def _convert(value: Any, kind: Any, name: str, where: str, missing: list[str]) -> Any:
    if isinstance(kind, frozenset):
        _expect(value, "string", name)
        return value if value in kind else None  # an unknown enum value counts as absent
    if kind == "bytes":
        _expect(value, "string", name)
        return _decoded(value, name)
    if kind.startswith("["):
        _expect(value, "array", name)
        items = enumerate(value)
        return [_convert(v, kind[1:-1], name, f"{where}[{i}]", missing) for i, v in items]
    if kind.startswith("{"):
        _expect(value, "object", name)
        pairs = value.items()
        return {k: _convert(v, kind[1:-1], name, f"{where}[{k}]", missing) for k, v in pairs}
    if kind in _SCHEMA:
        _expect(value, "object", name)
        return _message(value, kind, f"{where}.", missing)
    _expect(value, kind, name)
    return value


def _expect(value: Any, kind: str, name: str) -> None:
    found = _kind(value)
    if found != kind:
        raise _unconvertible(f"Not expecting a JSON {found} for field '{name}'")
    if found == "number" and not abs(value) < 2**63:
        raise _unconvertible(f"The number for field '{name}' is out of range")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    names = ((dict, "object"), (list, "array"), (str, "string"), (int | float, "number"))
    return next((name for kind, name in names if isinstance(value, kind)), "null")


def _decoded(value: str, name: str) -> bytes:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_"
    strange = next((c for c in value if c not in alphabet), None)
    why = f"Invalid character '{strange}'"
    if strange is None:
        try:
            return base64.urlsafe_b64decode(value.replace("+", "-").replace("/", "_"))
        except ValueError:
            why = "Invalid length"
    raise _unconvertible(f"Failed to base64 decode bytes field '{name}': {why}")


def _unconvertible(why: str) -> Malformed:
    return Malformed(f"Failed to convert JSON into Call protobuf: {why}")


def _check(call: Json) -> None:
    kind = call.get("type")
    if kind is None:
        raise _invalid("Expecting 'type' to be present")
    if kind in _NEEDS_BODY and kind.lower() not in call:
        raise _invalid(f"Expecting '{kind.lower()}' to be present")
    if kind == "SUBSCRIBE":
        if call.get("framework_id") != call["subscribe"]["framework_info"].get("id"):
            raise _invalid("'framework_id' differs from 'subscribe.framework_info.id'")
    elif "framework_id" not in call:
        raise _invalid("Expecting 'framework_id' to be present")
    if kind == "ACKNOWLEDGE" and len(call["acknowledge"]["uuid"]) != 16:
        raise _invalid("Not a valid UUID")


def _invalid(why: str) -> Malformed:
    return Malformed(f"Failed to validate scheduler::Call: {why}")


def refuse_seconds(body: Json) -> float | None:
    value = body.get("filters", {}).get("refuse_seconds")
    return None if value is None else float(value)


def ids(values: list[Json]) -> list[str]:
    return [value["value"] for value in values]


def task_infos(accept: Json) -> list[tuple[Json, bool]]:
    """The tasks an ACCEPT launches, each with whether it belongs to a group."""
    result = []
    for operation in accept.get("operations", []):
        if operation.get("type") == "LAUNCH":
            result += [(t, False) for t in operation.get("launch", {}).get("task_infos", [])]
        if operation.get("type") == "LAUNCH_GROUP" and "launch_group" in operation:
            tasks = operation["launch_group"]["task_group"].get("tasks", [])
            result += [(t, True) for t in tasks]
    return result
