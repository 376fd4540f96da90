"""What the master refuses, and in which words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from tfmesos.json_types import Json

from .entities import Offer
from .resources import Resources, from_json, number_text

_MAX_ID = 255  # bytes; ids become names of directories


def framework_problem(info: Json) -> str | None:
    """Why the FrameworkInfo is refused with an ERROR event."""
    multi_role = any(c.get("type") == "MULTI_ROLE" for c in info.get("capabilities", []))
    roles = info.get("roles", [])
    if not multi_role and roles:
        return "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable"
    if multi_role and "role" in info:
        return "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable"
    repeated = sorted({role for role in roles if roles.count(role) > 1})
    if repeated:
        return f"'FrameworkInfo.roles' contains duplicate items: {{ {', '.join(repeated)} }}"
    return _role_problem(info) or id_problem(info.get("id", {}).get("value", "new"))


def _role_problem(info: Json) -> str | None:
    field = "roles" if "roles" in info else "role"
    for role in info.get("roles", [info.get("role", "*")]):
        for part in role.split("/"):
            if why := _component_problem(part):
                return f"'FrameworkInfo.{field}' contains invalid role: {why}"
    return None


def _component_problem(part: str) -> str | None:
    if not part:
        return "Role component '' is invalid because it is empty"
    if part in (".", ".."):
        return f"Role component '{part}' is invalid"
    if part.startswith("-"):
        return f"Role component '{part}' is invalid because it begins with a dash"
    if any(c.isspace() or c == "\b" for c in part):
        return f"Role component '{part}' is invalid because it contains backspace or whitespace"
    return None


def id_problem(value: str) -> str | None:
    if not value:
        return "ID must not be empty"
    if len(value.encode()) > _MAX_ID:
        return f"ID must not be greater than {_MAX_ID} characters"
    if value in (".", ".."):
        return f"'{value}' is disallowed"
    if any(ord(c) < 32 or ord(c) == 127 or c in "/\\" for c in value):
        return f"'{value}' contains invalid characters"
    return None


def offers_problem(ids: Sequence[str], mine: Mapping[str, Offer]) -> str | None:
    """Why these offers cannot be accepted together; *mine* are the framework's own."""
    if not ids:
        return "No offers specified"
    for index, offer_id in enumerate(ids):
        if offer_id in ids[:index]:
            return f"Duplicate offer {offer_id} in offer list"
    for offer_id in ids:
        if offer_id not in mine:
            return f"Offer {offer_id} is no longer valid"
    return _mixture([mine[offer_id] for offer_id in ids])


def _mixture(offers: Sequence[Offer]) -> str | None:
    first = offers[0]
    for offer in offers:
        if offer.agent_id != first.agent_id:
            return (
                "Aggregated offers must belong to one single agent. "
                f"Offer {offer.id} uses agent {offer.agent_id} and agent {first.agent_id}"
            )
        if offer.role != first.role:
            return (
                "Aggregated offers must be allocated to the same role. "
                f"Offer {offer.id} uses role '{offer.role} but another is using role '{first.role}"
            )
    return None


def task_problem(
    info: Json, agent_id: str, role: str, available: Resources, taken: Collection[str]
) -> str | None:
    """Why this task cannot be launched with what is *available*; *taken* are ids in use."""
    task_id = info["task_id"]["value"]
    if why := id_problem(task_id):
        return why
    if task_id in taken:
        return f"Task has duplicate ID: {task_id}"
    if info["agent_id"]["value"] != agent_id:
        wrong = info["agent_id"]["value"]
        return f"Task uses invalid agent {wrong} while agent {agent_id} is expected"
    return _kind_problem(info) or _resources_problem(info.get("resources", []), role, available)


def _kind_problem(info: Json) -> str | None:
    if ("command" in info) == ("executor" in info):
        return "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
    if "executor" in info:
        return "The embedded Mesos runs tasks with a CommandInfo only, not with an ExecutorInfo"
    return None


def _resources_problem(entries: list[Json], role: str, available: Resources) -> str | None:
    if not entries:
        return "Task uses no resources"
    for entry in entries:
        if why := _entry_problem(entry):
            return why
    wanted = from_json(entries, role)
    if available.covers(wanted):
        return None
    return (
        f"Total resources {wanted.text(role)} required by task and its executor "
        f"is more than available {available.text(role)}"
    )


def _entry_problem(entry: Json) -> str | None:
    name = entry["name"]
    amount = entry.get("scalar", {}).get("value", 0)
    if entry["type"] == "SCALAR" and amount < 0:
        text = f"{name}:{number_text(amount)}"
        return f"Resource '{text}' is invalid: Invalid scalar resource: value <= 0"
    if name == "gpus" and entry["type"] == "SCALAR" and amount % 1:
        why = "Invalid 'gpus' resource: The 'gpus' resource must be an unsigned integer"
        return f"Task uses invalid resources: {why}"
    return None
