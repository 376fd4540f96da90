"""What the task states of Mesos mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from ...core.events import TaskEnded
from ...errors import DRAINED, MAX_CODE
from ...shared.exit_status import KILLED, killed_by, out_of_memory
from ...text import shortened
from .task_reasons import DRAINING, OUT_OF_MEMORY, Whose, whose

# The first word of strsignal(3), which Mesos uses, -> the signal.
_SIGNALS = {
    "Hangup": 1,
    "Interrupt": 2,
    "Illegal": 4,
    "Aborted": 6,
    "Bus": 7,
    "Floating": 8,
    "Killed": 9,
    "Segmentation": 11,
    "Terminated": 15,
}


_STATUS = re.compile(r"(?:Command|Container) exited with status ([0-9]+)")


class StateMeaning(NamedTuple):
    is_terminal: bool
    sentence: str  # after the task's name
    is_lost: bool = False  # was it the fault of its node, unless the reason says otherwise?


STATES: Mapping[str, StateMeaning] = {
    "TASK_STAGING": StateMeaning(False, "is being prepared"),
    "TASK_STARTING": StateMeaning(False, "is starting"),
    "TASK_RUNNING": StateMeaning(False, "runs"),
    "TASK_KILLING": StateMeaning(False, "is being killed"),
    "TASK_UNREACHABLE": StateMeaning(False, "is unreachable from the master"),
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
    """States newer than this table do not count as final: the task may still report."""
    meaning = STATES.get(state)
    return meaning is not None and meaning.is_terminal


def is_transient(message: str) -> bool:
    """Is the agent just about to free the GPUs of a task that has ended?"""
    return re.search(r"Requested \S+ gpus but only \S+ available", message) is not None


def describe(state: str, message: str = "", reason: str = "") -> str:
    """What a status update says, as the rest of a sentence about the task."""
    sentence = STATES[state].sentence if state in STATES else f"is in state {state}"
    if state == "TASK_FAILED" and not reason:
        if number := _signal_in(message):
            return killed_by(number)
        if (status := _STATUS.search(message)) and _is_code(status[1]):
            return f"exited with {int(status[1])}"
    if reason == DRAINING:
        return DRAINED
    if reason == OUT_OF_MEMORY:  # below the first line there are pages of statistics
        return out_of_memory(shortened(message.partition("\n")[0]))
    detail = "; ".join(text for text in (shortened(message), reason) if text)
    return f"{sentence} ({detail})" if detail else sentence


def status_in(message: str) -> int | None:
    """The exit code, from the message of Mesos, the only place where it appears.

    A number that is not a valid exit code means a failure.
    """
    if found := _STATUS.search(message):
        return int(found[1]) if _is_code(found[1]) else 1
    number = _signal_in(message)
    return 128 + number if number else None


def _is_code(digits: str) -> bool:
    return len(digits) <= 3 and int(digits) <= MAX_CODE


def _signal_in(message: str) -> int:
    found = re.search(r"(?:Command|Container) terminated with signal ([A-Z][a-z]+)", message)
    return _SIGNALS.get(found[1], 0) if found else 0


def is_from_outside(state: str, reason: str) -> bool:
    """Did its node, its executor or an operator end the task, rather than its command?"""
    cause = whose(reason)
    if cause is Whose.UNSAID:
        return STATES[state].is_lost
    return cause is Whose.OUTSIDE and state != "TASK_FINISHED"


def ending(task_id: str, state: str, message: str = "", reason: str = "") -> TaskEnded:
    """What a terminal state says, in the words of the lifecycle."""
    code = status_in(message) or (0 if state == "TASK_FINISHED" else 1)
    return TaskEnded(
        task_id,
        KILLED if reason == OUT_OF_MEMORY else code,
        describe(state, message, reason),
        is_lost=is_from_outside(state, reason),
        was_killed=state == "TASK_KILLED",
        is_transient=is_transient(message),
    )
