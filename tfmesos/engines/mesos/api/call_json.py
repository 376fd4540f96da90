"""The calls of the Mesos v1 scheduler API as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ....config.secret import Secret
from ....json_types import Json


def subscribe(framework_info: Mapping[str, Any], framework_id: str | None) -> bytes:
    """For the first time, or again with the *framework_id* we were given then."""
    if framework_id is None:
        return _encoded({"type": "SUBSCRIBE", "subscribe": {"framework_info": framework_info}})
    known = {"value": framework_id}
    body = {"framework_info": {**framework_info, "id": known}}
    return _encoded({"type": "SUBSCRIBE", "framework_id": known, "subscribe": body})


def call(framework_id: str | None, type: str, body: Json) -> bytes:
    """Any other call, with the *body* of its type."""
    message: Json = {"framework_id": {"value": framework_id}, "type": type}
    return _encoded({**message, type.lower(): body} if body else message)


def accept(offer_ids: Iterable[str], task_infos: Sequence[Json], refuse_seconds: float) -> Json:
    launch = {"type": "LAUNCH", "launch": {"task_infos": list(task_infos)}}
    return {**decline(offer_ids, refuse_seconds), "operations": [launch]}


def decline(offer_ids: Iterable[str], refuse_seconds: float, field: str = "offer_ids") -> Json:
    ids = [{"value": offer_id} for offer_id in offer_ids]
    return {field: ids, "filters": {"refuse_seconds": refuse_seconds}}


def task(task_id: str, agent_id: str | None) -> Json:
    named: Json = {"task_id": {"value": task_id}}
    return {**named, "agent_id": {"value": agent_id}} if agent_id else named


def _encoded(message: Json) -> bytes:
    """In ASCII, which cannot fail: an error would contain the whole call, with its secrets."""
    return json.dumps(message, default=Secret.reveal).encode("ascii")
