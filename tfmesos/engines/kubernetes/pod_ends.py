"""Explains how tasks ended on Kubernetes: exit codes, limits, nodes, deletions by others."""

from __future__ import annotations

import re

from ...config.job import Task
from ...core.events import TaskEnded
from ...errors import MAX_CODE
from ...shared.exit_status import (
    KILLED as KILLED,
)
from ...shared.exit_status import (
    TERMINATED,
    is_signal,
    killed_by,
    memory_limit,
    out_of_memory,
)
from ...text import shortened
from .pod_status import STOPPED_BY_QUEUE, PodSeen

_NOT_STARTED = ("ContainerCannotRun", "StartError")  # to Docker and to containerd

_DISRUPTIONS = {
    "PreemptionByScheduler": "had to make room for a pod of higher priority (preemption)",
    "DeletionByTaintManager": "was removed from its node, which now has a taint",
    "EvictionByEvictionAPI": "was evicted: its node is being drained",
    "DeletionByPodGC": "was removed with its node",
    STOPPED_BY_QUEUE: "was stopped by its queue to make room for others",
    "TerminationByKubelet": "was ended by its node, which is short of resources or shutting down",
}
_REASONS = {
    "Evicted": "was evicted by its node",
    "Preempting": "had to make room for a critical pod on its node",
    "NodeLost": "was lost with its node",
    "NodeShutdown": "was ended by its node, which is shutting down",
    "Shutdown": "was ended by its node, which is shutting down",
    "Terminated": "was ended by its node, which is shutting down",
    "NodeAffinity": "was refused by its node: its labels have changed",
    "UnexpectedAdmissionError": "was refused by its node",
}
_CHAIN = re.compile(
    r"^(?:rpc error: code = \w+ desc = |failed to \w+ \w+ task: |OCI runtime \w+ failed: "
    r"|runc \w+ failed: |unable to start container process: |error during container init: )+"
)
DELETED = "was deleted from outside the run"


def ending(task_id: str, task: Task, pod: PodSeen, was_killed: bool) -> TaskEnded | None:
    """How the task of *pod* ended; None if it has not. *was_killed*: we asked for it."""
    if not pod.has_ended:
        return None
    if pod_has_reason(pod):
        words = _of_pod(pod)
        code = _code(pod.code) or 1
        is_lost = pod.reason != "DeadlineExceeded"
        return TaskEnded(task_id, code, words, is_lost=is_lost, was_killed=was_killed)
    code = _code(pod.code) if pod.code is not None else int(pod.phase == "Failed")
    if pod.reason == "OOMKilled":
        words = out_of_memory(memory_limit(task.job.mem))
        return TaskEnded(task_id, KILLED, words, was_killed=was_killed)
    if pod.reason in _NOT_STARTED:
        code = _start_code(pod, code)
    return TaskEnded(task_id, code, _of_container(pod, code), was_killed=was_killed)


def pod_has_reason(pod: PodSeen) -> bool:
    """Does it say itself why it has ended?"""
    return pod.phase == "Failed" and bool(_of_pod(pod))


def may_say_more(pod: PodSeen) -> bool:
    """Was the container of *pod* killed, while the pod itself has not yet said why?"""
    is_killed = pod.code in (KILLED, TERMINATED) and pod.reason != "OOMKilled"
    return is_killed and pod.phase not in ("Succeeded", "Failed")


def _start_code(pod: PodSeen, code: int) -> int:
    """The code that a shell would use: containerd reports 128 for every failed start."""
    if "executable file not found" in pod.detail or "no such file or directory" in pod.detail:
        return 127
    return 126 if "permission denied" in pod.detail else code


def _code(code: int | None) -> int:
    """A number that no process can exit with stands for a failure."""
    return 0 if not code else code if 0 < code <= MAX_CODE else 1


def _of_pod(pod: PodSeen) -> str:
    """The end of a whole pod, caused from outside its container."""
    if pod.reason == "DeadlineExceeded":
        return "was ended: the pod template limits its time (activeDeadlineSeconds)"
    if pod.reason.startswith("OutOf"):
        return with_detail(f"was refused by its node ({pod.reason})", pod)
    words = _DISRUPTIONS.get(pod.disruption) or _REASONS.get(pod.reason)
    return with_detail(words, pod) if words else ""


def _of_container(pod: PodSeen, code: int) -> str:
    if pod.reason in _NOT_STARTED or (pod.detail and code in (126, 127)):
        return with_detail("could not be started", pod)
    if is_signal(code - 128):
        return killed_by(code - 128)
    return f"exited with {code}"


def with_detail(words: str, pod: PodSeen) -> str:
    return f"{words}: {_short(pod.detail)}" if pod.detail else words


def _short(text: str) -> str:
    """One line, without the names of the programs that passed it on."""
    text = _CHAIN.sub("", text).removesuffix(": unknown")
    return shortened(text.strip().rstrip("."), 200)


def deletion(pod: PodSeen | None) -> str:
    """Why a pod is deleted that we did not delete."""
    return _DISRUPTIONS.get(pod.disruption, DELETED) if pod else DELETED


def preemption(detail: str) -> str:
    """Likewise, where the scheduler says why."""
    words, detail = _DISRUPTIONS["PreemptionByScheduler"], re.sub(r" on node \S+$", "", detail)
    return f"{words}: {_short(detail)}" if detail else words
