"""Task and offer -> the JSON Mesos takes; and what its task states mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .containers import container_info
from .launch import LaunchConfig
from .offers import Seat
from .secret import Secret
from .wire import EVICTED, MAX_CODE
from .words import shortened

Json = dict[str, Any]

# Seconds for which a master keeps our tasks, and their resources, after it lost us: the shortest
# in which we are surely back. A new leader is there after a session of ZooKeeper (10 s); we look
# for it every 5 s, and each of two candidates that hang costs 15 s until it is given up.
FAILOVER_TIMEOUT = 60.0
KILL_GRACE = 5.0  # seconds between SIGTERM and SIGKILL


CAPABILITIES = (
    "GPU_RESOURCES",
    "MULTI_ROLE",
    "PARTITION_AWARE",
    "RESERVATION_REFINEMENT",
    "TASK_KILLING_STATE",
)


OUT_OF_MEMORY = "REASON_CONTAINER_LIMITATION_MEMORY"
DRAINING = "REASON_AGENT_DRAINING"
# The first word of strsignal(3), which Mesos uses, -> name and number.
_SIGNALS = {
    "Hangup": ("SIGHUP", 1),
    "Interrupt": ("SIGINT", 2),
    "Illegal": ("SIGILL", 4),
    "Aborted": ("SIGABRT", 6),
    "Bus": ("SIGBUS", 7),
    "Floating": ("SIGFPE", 8),
    "Killed": ("SIGKILL", 9),
    "Segmentation": ("SIGSEGV", 11),
    "Terminated": ("SIGTERM", 15),
}


DRAINED = f"{EVICTED}, which the operator is draining"
_STATUS = re.compile(r"(?:Command|Container) exited with status ([0-9]+)")


class StateMeaning(NamedTuple):
    is_terminal: bool
    sentence: str  # after the task's name
    is_lost: bool = False  # did its node fail it, whatever its command did?


STATES: Mapping[str, StateMeaning] = {
    "TASK_STAGING": StateMeaning(False, "is being prepared"),
    "TASK_STARTING": StateMeaning(False, "is starting"),
    "TASK_RUNNING": StateMeaning(False, "runs"),
    "TASK_KILLING": StateMeaning(False, "is being killed"),
    "TASK_UNREACHABLE": StateMeaning(False, "is out of reach of the master"),
    "TASK_FINISHED": StateMeaning(True, "ended"),
    "TASK_FAILED": StateMeaning(True, "failed"),
    "TASK_KILLED": StateMeaning(True, "was killed"),
    "TASK_ERROR": StateMeaning(True, "was refused by Mesos"),
    "TASK_LOST": StateMeaning(True, "was lost", True),
    "TASK_DROPPED": StateMeaning(True, "was dropped before it started", True),
    "TASK_GONE": StateMeaning(True, "is gone with its agent", True),
    "TASK_GONE_BY_OPERATOR": StateMeaning(True, "is gone: an operator removed its agent", True),
    "TASK_UNKNOWN": StateMeaning(True, "is unknown to the master", True),
}


def is_terminal(state: str) -> bool:
    """States of a Mesos newer than us are taken as not final: the task may yet report."""
    meaning = STATES.get(state)
    return meaning is not None and meaning.is_terminal


def is_lost(state: str, reason: str = "") -> bool:
    meaning = STATES.get(state)
    return reason == DRAINING or (meaning is not None and meaning.is_lost)


def is_passing(message: str) -> bool:
    """Is it only that the agent has not freed the GPUs yet of a task that has just ended?"""
    return re.search(r"Requested \S+ gpus but only \S+ available", message) is not None


def describe(state: str, message: str = "", reason: str = "") -> str:
    """What a status update says, as the rest of a sentence about the task."""
    sentence = STATES[state].sentence if state in STATES else f"is in state {state}"
    if state == "TASK_FAILED" and not reason:
        name, number = _signal_in(message)
        if name:
            return f"was killed by {name} (signal {number})"
        if (status := _STATUS.search(message)) and _is_code(status[1]):
            return f"exited with {int(status[1])}"
    if reason == DRAINING:
        return DRAINED
    if reason == OUT_OF_MEMORY:  # below the first line there are pages of statistics
        sentence, reason, message = "was killed: out of memory", "", message.partition("\n")[0]
    detail = "; ".join(text for text in (shortened(message), reason) if text)
    return f"{sentence} ({detail})" if detail else sentence


def status_in(message: str) -> int | None:
    """The exit code in Mesos's words for it, which is the only place it puts it.

    A number that no process can exit with stands for a failure.
    """
    if found := _STATUS.search(message):
        return int(found[1]) if _is_code(found[1]) else 1
    number = _signal_in(message)[1]
    return 128 + number if number else None


def _is_code(digits: str) -> bool:
    return len(digits) <= 3 and int(digits) <= MAX_CODE


def _signal_in(message: str) -> tuple[str, int]:
    found = re.search(r"(?:Command|Container) terminated with signal ([A-Z][a-z]+)", message)
    return _SIGNALS.get(found[1], ("", 0)) if found else ("", 0)


def framework_info(config: LaunchConfig, run_id: str, hostname: str) -> Json:
    principal = config.access.principal
    return {
        "user": config.task_user or config.user,
        "name": config.name,
        **({"principal": principal} if principal else {}),
        "roles": [config.role],
        "hostname": hostname,
        "checkpoint": True,
        "failover_timeout": FAILOVER_TIMEOUT,
        "capabilities": [{"type": name} for name in CAPABILITIES],
        "offer_filters": {config.role: {"min_allocatable_resources": _smallest(config)}},
        "labels": {"labels": [{"key": "tfmesos_run", "value": run_id}]},
    }


def _smallest(config: LaunchConfig) -> Json:
    """What an offer must hold to be of any use: all that one task needs. Old masters ignore it."""
    needs = {job.needs for job in config.jobs if job.tasks}
    scalars = [
        {name: {"value": amount / 1000} for name, amount in one.named() if amount}
        for one in sorted(needs, key=str)
    ]
    return {"quantities": [{"quantities": quantities} for quantities in scalars]}


def task_info(config: LaunchConfig, task_id: str, agent_id: str, seat: Seat, command: Json) -> Json:
    """The TaskInfo of *seat*; *command* is what starts the runner there."""
    info = {
        "name": seat.task.mesos_name,
        "task_id": {"value": task_id},
        "agent_id": {"value": agent_id},
        "resources": list(seat.resources),
        "command": command,
        "kill_policy": {"grace_period": {"nanoseconds": int(KILL_GRACE * 1e9)}},
    }
    if container := container_info(config, seat):
        info["container"] = container
    return info


def command_info(shell_command: str, environment: Mapping[str, str | Secret]) -> Json:
    variables = [{"name": name, "value": value} for name, value in environment.items()]
    return {
        "shell": True,
        "value": shell_command,
        "environment": {"variables": variables},
    }
