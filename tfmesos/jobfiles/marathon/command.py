"""The command of a Marathon app, and the placeholders it was made from.

A group has one app for each task, with all addresses written out. The apps of one job become one
command with placeholders: the one in a label, if it yields the command of the app; else the one
whose well-known flags have them as values.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from ..export_common import SERVER_COMMAND
from ..translation import Document

LABEL = "tfmesos"  # holds cmd, args or serve of the job in JSON
DOMAIN = "marathon.mesos"  # of Mesos-DNS

Cluster = Mapping[str, Sequence[str]]
Words = str | list[str]

OWN_VARIABLES = "TFMESOS_"
_VARIABLE = re.compile(rf"{OWN_VARIABLES}(\w+)")
_HOSTS = "_hosts"
_NAMES = r"(--(\w+_hosts|job_name|task_index))"
_FLAG = re.compile(_NAMES + r"""(=|\s+)("[^"]*"|'[^']*'|[^\s;&|<>()]+)""")
_WHOLE_FLAG = re.compile(_NAMES + r"(=)(.+)", re.S)
_SPLIT_FLAG = re.compile(r"--(\w+_hosts|job_name|task_index)")
_PLACEHOLDER = re.compile(r"\{(\w+)\}|<(\w+)>")


def address(app: str, group: str, port: int) -> str:
    """The Mesos-DNS name of an app of a group, with its port."""
    return f"{app}-{group}.{DOMAIN}:{port}"


def rendered(template: Document, cluster: Cluster, job: str, index: int) -> Document:
    """``cmd`` or ``args`` of the app of one task."""
    hosts = {f"{name}{_HOSTS}": ",".join(found) for name, found in cluster.items()}
    values = {"ps_hosts": "", "worker_hosts": "", **hosts}
    values |= {"job_name": job, "task_index": str(index)}
    if template.get("serve"):
        return {"cmd": shlex.join(SERVER_COMMAND)}
    cmd, args = template.get("cmd"), template.get("args") or []
    args = [_filled(word, values) for word in args]
    if cmd is None:
        return {"args": args}
    if isinstance(cmd, str):
        return {"cmd": " ".join([_filled(cmd, values), *([shlex.join(args)] if args else [])])}
    return {"cmd": shlex.join([*(_filled(word, values) for word in cmd), *args])}


def variables(command: Document, cluster: Cluster, job: str, index: int) -> dict[str, str]:
    """The variables of a task that its *command* uses: Marathon sets none of them."""
    hosts = {f"{name.upper()}_HOSTS": ",".join(found) for name, found in cluster.items()}
    host, _, port = cluster[job][index].rpartition(":")
    known = {"PS_HOSTS": "", "WORKER_HOSTS": "", **hosts, "JOB_NAME": job, "DISTRIBUTED": "1"}
    known |= {"TASK_INDEX": str(index), "HOST": host, "PORT": port}
    named = _VARIABLE.findall(str(command))
    return {OWN_VARIABLES + name: known[name] for name in named if name in known}


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda found: values.get(found[1] or found[2], found[0]), text)


def template_of(label: Any) -> Document | None:
    """The content of the label of an app, if we wrote it."""
    try:
        found = json.loads(label) if isinstance(label, str) else None
    except (ValueError, RecursionError):
        return None
    is_ours = isinstance(found, dict) and all(_is_of_ours(*one) for one in found.items())
    return found if is_ours else None


def _is_of_ours(name: str, value: Any) -> bool:
    is_list = isinstance(value, list) and all(isinstance(word, str) for word in value)
    match name:
        case "cmd":
            return bool(value) and (is_list or isinstance(value, str))
        case "args":
            return is_list
    return name == "serve" and value is True


def flags_in(words: Words | None) -> dict[str, str]:
    """The well-known flags, and their values."""
    if isinstance(words, str):
        return {found[2]: found[4].strip("\"'") for found in _FLAG.finditer(words)}
    flags: dict[str, str] = {}
    for word, after in pairwise([*(words or []), ""]):
        if found := _WHOLE_FLAG.fullmatch(word):
            flags[found[2]] = found[4]
        elif found := _SPLIT_FLAG.fullmatch(word):
            flags[found[1]] = after
    return flags


def with_placeholders(words: Any) -> Any:
    """The command with a placeholder as the value of each of these flags."""
    if isinstance(words, str):
        return _FLAG.sub(lambda found: f"{found[1]}{found[3]}{{{found[2]}}}", words)
    result: list[str] = []
    for word in words:
        before = _SPLIT_FLAG.fullmatch(result[-1]) if result else None
        text = f"{{{before[1]}}}" if before else word
        result.append(_WHOLE_FLAG.sub(lambda found: f"{found[1]}={{{found[2]}}}", text))
    return result
