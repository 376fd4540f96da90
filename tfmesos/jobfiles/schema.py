"""A JSON Schema of our format, made from the table of settings, for editors."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Any, get_origin

from ..config.setting import Setting
from ..config.settings import DOCUMENT_KEYS, SETTINGS

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
TEXTS: Schema = {"type": "array", "items": TEXT}
VARIABLES: Schema = {"type": "object", "additionalProperties": TEXT}
WHOLE: Schema = {"type": "integer", "minimum": 0}
COUNT: Schema = {"anyOf": [WHOLE, {"type": "string", "pattern": "^[0-9]+:[0-9]+$"}]}
SIZE: Schema = {"type": ["number", "string"]}  # in MiB, or with a unit
SWITCH: Schema = {"type": "boolean"}
COMMAND: Schema = {"anyOf": [TEXT, {**TEXTS, "minItems": 1}]}
CODES: Schema = {"anyOf": [TEXT, {"type": "array", "items": {"type": "integer"}}]}

# The fields of a job.
JOB: dict[str, Schema] = {
    "num": COUNT,
    "count": COUNT,
    "at_least": WHOLE,
    "cpus": {"type": "number", "exclusiveMinimum": 0},
    "gpus": WHOLE,
    "mem": SIZE,
    "disk": SIZE,
    "cmd": COMMAND,
    "command": COMMAND,
    "args": TEXTS,
    "serve": SWITCH,
    "image": TEXT,
    "env": VARIABLES,
    "cwd": TEXT,
    "port": {"type": ["integer", "string"]},
    "reserve_port": SWITCH,
    "task_type": TEXT,
    "start": WHOLE,
    "constraints": TEXTS,
    "restarts": {"type": ["integer", "string"]},
    "restart_policy": TEXT,
    "retry_codes": CODES,
    "pod_template": {"type": "object"},
}
_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean"}


def schema() -> Schema:
    job = {"type": ["object", "null"], "properties": JOB, "additionalProperties": False}
    rows = (setting for setting in SETTINGS if setting.field in DOCUMENT_KEYS)
    settings = {setting.field: _of_setting(setting) for setting in rows}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A job file of tfmesos",
        "type": "object",
        "properties": {
            "cmd": COMMAND,
            "command": COMMAND,
            "jobs": {"type": "object", "additionalProperties": job, "minProperties": 1},
            **settings,
        },
        "required": ["jobs"],
        "additionalProperties": False,
    }


def _of_setting(setting: Setting) -> Schema:
    kinds = setting.kind.__args__ if isinstance(setting.kind, UnionType) else (setting.kind,)
    found = [one for kind in kinds for one in _of_kind(kind)]
    unique = [one for i, one in enumerate(found) if one not in found[:i]]
    types = unique[0] if len(unique) == 1 else {"anyOf": unique}
    return {**types, "description": setting.help}


def _of_kind(kind: Any) -> Iterator[Schema]:
    if kind in _TYPES:
        yield {"type": _TYPES[kind]}
    elif (origin := get_origin(kind)) is not None:
        yield {"type": "object" if origin.__name__ == "Mapping" else "array"}
    elif kind is not type(None):
        yield TEXT  # a path
