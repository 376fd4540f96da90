"""The reasons of Mesos for the end of a task: by the command itself, or from outside.

Only an end from outside, such as a lost node, justifies a restart whatever the exit code is.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Whose(Enum):
    OUTSIDE = "outside"  # the agent, the executor or an operator ended it
    OWN = "own"  # the command did, or what was asked for it
    UNSAID = "unsaid"  # the state of the task says it


OUT_OF_MEMORY = "REASON_CONTAINER_LIMITATION_MEMORY"
DRAINING = "REASON_AGENT_DRAINING"

# All reasons of Mesos 1.11, as its v1 API calls them.
REASONS: Mapping[str, Whose] = {
    "REASON_AGENT_DISCONNECTED": Whose.OUTSIDE,
    DRAINING: Whose.OUTSIDE,
    "REASON_AGENT_REMOVED": Whose.OUTSIDE,
    "REASON_AGENT_REMOVED_BY_OPERATOR": Whose.OUTSIDE,
    "REASON_AGENT_REREGISTERED": Whose.OUTSIDE,
    "REASON_AGENT_RESTARTED": Whose.OUTSIDE,
    "REASON_AGENT_UNKNOWN": Whose.OUTSIDE,
    "REASON_COMMAND_EXECUTOR_FAILED": Whose.OUTSIDE,
    "REASON_CONTAINER_LAUNCH_FAILED": Whose.OUTSIDE,
    "REASON_CONTAINER_LIMITATION": Whose.OWN,
    "REASON_CONTAINER_LIMITATION_DISK": Whose.OWN,
    OUT_OF_MEMORY: Whose.OWN,
    "REASON_CONTAINER_PREEMPTED": Whose.OUTSIDE,
    "REASON_CONTAINER_UPDATE_FAILED": Whose.OUTSIDE,
    "REASON_EXECUTOR_REGISTRATION_TIMEOUT": Whose.OUTSIDE,
    "REASON_EXECUTOR_REREGISTRATION_TIMEOUT": Whose.OUTSIDE,
    "REASON_EXECUTOR_TERMINATED": Whose.OUTSIDE,
    "REASON_EXECUTOR_UNREGISTERED": Whose.OUTSIDE,
    "REASON_FRAMEWORK_REMOVED": Whose.OUTSIDE,
    "REASON_GC_ERROR": Whose.OUTSIDE,
    "REASON_INVALID_FRAMEWORKID": Whose.OUTSIDE,
    "REASON_INVALID_OFFERS": Whose.OUTSIDE,
    "REASON_IO_SWITCHBOARD_EXITED": Whose.OUTSIDE,
    "REASON_MASTER_DISCONNECTED": Whose.OUTSIDE,
    "REASON_MAX_COMPLETION_TIME_REACHED": Whose.OWN,
    "REASON_RECONCILIATION": Whose.UNSAID,
    "REASON_RESOURCES_UNKNOWN": Whose.OUTSIDE,
    "REASON_TASK_CHECK_STATUS_UPDATED": Whose.UNSAID,
    "REASON_TASK_GROUP_INVALID": Whose.OWN,
    "REASON_TASK_GROUP_UNAUTHORIZED": Whose.OWN,
    "REASON_TASK_HEALTH_CHECK_STATUS_UPDATED": Whose.UNSAID,
    "REASON_TASK_INVALID": Whose.OWN,
    "REASON_TASK_KILLED_DURING_LAUNCH": Whose.UNSAID,
    "REASON_TASK_UNAUTHORIZED": Whose.OWN,
    "REASON_TASK_UNKNOWN": Whose.OUTSIDE,
}


def whose(reason: str) -> Whose:
    """The state of a task decides about reasons of Mesos that are newer than this table."""
    return REASONS.get(reason, Whose.UNSAID)
