"""Why Slurm jobs wait and end, in words, and what an end means for the tasks."""

from __future__ import annotations

from ....errors import EVICTED
from ....record import Record
from ....shared.exit_status import KILLED, out_of_memory
from ....text import duration
from .batch_jobs import Job

WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT")
SUSPENDED = ("SUSPENDED", "STOPPED")
RUNNING = ("RUNNING", *SUSPENDED, "SIGNALING", "STAGE_OUT", "RESIZING")
COMPLETING = "COMPLETING"
CANCELLED = "CANCELLED"

# Reasons of a pending job that will not change by waiting.
NEVER = {
    "BadConstraints": "no node has what the job asks for",
    "InvalidAccount": "the account is not valid",
    "InvalidQOS": "the QOS is not valid",
    "PartitionNodeLimit": "the partition allows fewer nodes for one job",
    "PartitionTimeLimit": "the time limit is above that of the partition",
    "DependencyNeverSatisfied": "its dependency can never be satisfied",
    "AccountNotAllowed": "the account may not use this partition",
    "QOSNotAllowed": "the QOS may not be used in this partition",
    "PartitionConfig": "the nodes of the partition cannot hold all tasks",
}
PASSING = {
    "None": "Slurm has not looked at it yet",
    "Resources": "it is next, and is waiting for nodes that others use",
    "Priority": "jobs with a higher priority come first",
    "JobHeldUser": "it is held: scontrol release {job} releases it",
    "JobHeldAdmin": "an operator holds it",
    "BeginTime": "it is not due to start yet",
    "Dependency": "another job has to end first",
    "Licenses": "it is waiting for a license",
    "Reservation": "it is waiting for its reservation",
    "ReqNodeNotAvail": "a node that it needs is down, drained or reserved",
    "PartitionDown": "the partition is down",
    "PartitionInactive": "the partition is inactive",
    "NodeDown": "a node that it needs is down",
    "Prolog": "the prolog is running on its nodes",
}
_UNKNOWN_START = 360 * 24 * 3600.0  # seconds: Slurm says a year if it does not know
_LIMIT_PREFIXES = ("QOS", "Assoc", "Max")


class JobEnd(Record):
    """How a job ended: the rest of a sentence about each of its tasks."""

    reason: str
    is_lost: bool  # does it justify another attempt, whatever the tasks did?
    code: int = 143
    is_hopeless: bool = False  # would another attempt be unwanted, or end the same way?
    is_notice: bool = False  # did Slurm ask all tasks to end, and give them time for it?


_ENDS = {
    "NODE_FAIL": JobEnd(f"{EVICTED}: a node of its Slurm job failed", True),
    "BOOT_FAIL": JobEnd("was not started: its node did not boot", True, 1),
    "TIMEOUT": JobEnd(f"{EVICTED}: its Slurm job reached its time limit", True),
    "DEADLINE": JobEnd(f"{EVICTED}: its Slurm job reached its deadline", False, is_hopeless=True),
    "PREEMPTED": JobEnd(f"{EVICTED}: its Slurm job was preempted", True, is_notice=True),
    CANCELLED: JobEnd(f"{EVICTED}: its Slurm job was cancelled", False, is_hopeless=True),
    "OUT_OF_MEMORY": JobEnd(out_of_memory("Slurm ended it"), False, KILLED),
    "REVOKED": JobEnd(f"{EVICTED}: its Slurm job runs on another cluster", True),
}
# What the reason says about a job that is completing: its state does not say why.
_BY_REASON = {
    "TimeLimit": "TIMEOUT",
    "NodeDown": "NODE_FAIL",
    "SystemFailure": "NODE_FAIL",
    "JobLaunchFailure": "BOOT_FAIL",
    "OutOfMemory": "OUT_OF_MEMORY",
    "Preempted": "PREEMPTED",
}
GONE = JobEnd("is gone: Slurm no longer knows its job", True, 1)
BACK_IN_QUEUE = JobEnd(f"{EVICTED}: Slurm put its job back into the queue", True)


def why_waiting(job: Job) -> str:
    """What the run waits for, in words."""
    head = f"Slurm job {job.job_id}"
    place = f" is number {job.place} in its partition" if job.place else " waits"
    words = f"{head}{place}: {_reason(job)}"
    if job.starts_in is not None and 0 < job.starts_in < _UNKNOWN_START:
        words += f"; expected to start in {duration(job.starts_in)}"
    return words


def _reason(job: Job) -> str:
    name = job.reason.partition(",")[0].strip("()") or "None"
    if name in PASSING:
        words = PASSING[name].format(job=job.job_id)
        return words if name == "None" else f"{words} ({job.reason})"
    if name.startswith(_LIMIT_PREFIXES):
        return f"a limit of your account or QOS is reached ({name})"
    return name


def never(job: Job) -> str:
    """Why a waiting job can never start; empty if it can."""
    words = NEVER.get(job.reason.partition(",")[0].strip("()"))
    return f"{words} (Slurm says {job.reason})" if words else ""


def end_of(job: Job) -> JobEnd | None:
    """Why Slurm ended the job; None if its own tasks ended it, or if that is not known yet."""
    name = _BY_REASON.get(job.reason) if job.state in (COMPLETING, "FAILED") else job.state
    end = _ENDS.get(name or "")
    if end and name == CANCELLED and job.cancelled_by:
        return end.replace(reason=f"{end.reason} by {job.cancelled_by}")
    return end
