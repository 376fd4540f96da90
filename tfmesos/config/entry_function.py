"""A function of the user instead of a command, called as ``main(server, log_dir, context)``.

DC/OS TensorFlow had such functions. The task has an ordinary command, which the runner can execute
although its node has no tfmesos.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from .job import Job
from .setting import TASKS, Setting, Text, is_dict

WRAPPER = "tfmesos.node.entry"

_TARGET = re.compile(r"(?P<path>.*/)?[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")


def target(value: str) -> str:
    is_good = _TARGET.fullmatch(value)
    return "" if is_good else f"must be MODULE:FUNCTION, as in train:main, got {value!r}"


class EntrySettings(TypedDict, total=False):
    """The part of the table of settings that is about the function."""

    entry: Annotated[
        Text,
        Setting(
            "call this function as main(server, log_dir, context) in every task instead of "
            "running a command; ps tasks run bare servers",
            ("--entry",),
            TASKS,
            "[DIR/]MODULE:FUNCTION",
            check=target,
        ),
    ]
    context: Annotated[
        Mapping[str, object] | None,
        Setting(
            "context that the entry function receives: a JSON object, or a file that contains one",
            ("--context",),
            TASKS,
            "JSON|FILE",
            check=is_dict,
        ),
    ]
    log_dir: Annotated[
        Text,
        Setting(
            "log_dir that the entry function receives: a directory or URL that all nodes share",
            ("--log-dir",),
            TASKS,
            "DIR",
            default_words="a directory in the sandbox",
        ),
    ]


def entry_command(entry: str) -> tuple[str, ...]:
    return ("python3", "-m", WRAPPER, entry)  # the runner takes its own Python


def is_entry(job: Job) -> bool:
    """Do its tasks call the function?"""
    return not isinstance(job.cmd, str | None) and WRAPPER in job.cmd


def with_entry(jobs: Sequence[Job], given: Mapping[str, Any]) -> Sequence[Job]:
    """The jobs, with the function of the settings *given* for those that have no command.

    If one has the function already, those without a command are meant to be servers.
    """
    if not given["entry"]:
        _refuse_without_entry(given)
        return jobs
    if any(job.start for job in jobs):
        raise SpecError(None, "entry", "needs every task of the cluster: no job may set start")
    command = entry_command(given["entry"])
    if any(job.cmd == command for job in jobs):
        return jobs
    called = [job for job in jobs if job.cmd is None and job.task_type != "ps"]
    if not called:
        problem = (
            f"{given['entry']!r} is called by no task: each has its own command or is a bare server"
        )
        raise SpecError(None, "entry", problem)
    return [job.replace(cmd=command) if job in called else job for job in jobs]


def _refuse_without_entry(given: Mapping[str, Any]) -> None:
    for field in ("context", "log_dir"):
        if given[field] not in (None, ""):
            raise SpecError(None, field, "is used only with entry: give that, too")


def entry_environment(given: Mapping[str, Any]) -> dict[str, str]:
    """What the wrapper finds in its environment."""
    if not given["entry"]:
        return {}
    return {
        "TFMESOS_LOG_DIR": given["log_dir"] or "",
        "TFMESOS_CONTEXT": _json(given["context"] or {}),
        "TFMESOS_PROTOCOL": given["protocol"],
    }


def _json(context: Mapping[str, Any]) -> str:
    import json  # every start would pay for it

    try:
        return json.dumps(dict(context), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise SpecError(None, "context", f"must be a JSON object: {error}") from None
