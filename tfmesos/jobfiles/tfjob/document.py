"""TFJob of Kubeflow (tfReplicaSpecs) and its ancestor TfJob v1alpha1 (replicaSpecs), read."""

from __future__ import annotations

from typing import Any

from .. import tensorboard_job
from ..parts import Part
from ..translation import NOTHING_BESIDE, Beside, Document, JobFileError, Translation
from .export import from_ours
from .pod_volumes import mounts_of, volumes_of
from .pods import Pod
from .pods import read as read_pod
from .replicas import CHIEFS, Replica, check, restarts, run_of, settings_of, type_of

__all__ = ["from_ours", "is_mine", "to_ours"]

_GROUPS = ("kubeflow.org", "tensorflow.org", "mlkube.io")
_ALL_AT_ONCE = "has no effect here: the tasks of a run always start together"
_NOTHING_LEFT = "has no effect here: a run leaves nothing behind"


def is_mine(tree: dict[str, Any]) -> bool:
    """Any Kubernetes object: others are reported as unsupported."""
    return "kind" in tree and "apiVersion" in tree


def to_ours(tree: dict[str, Any], beside: Beside = NOTHING_BESIDE) -> Translation:
    remarks: list[str] = []
    part = Part(tree, (), remarks)
    kind, version = part.text("kind") or "", part.text("apiVersion") or ""
    if kind.lower() != "tfjob":
        part.fail("kind", f"must be TFJob, got {kind!r}")
    if version.partition("/")[0] not in _GROUPS:
        problem = f"must be kubeflow.org/v1 or tensorflow.org/v1alpha1, got {version!r}"
        part.fail("apiVersion", problem)
    settings = settings_of(part, beside)
    part.drop("status")
    spec = part.part("spec")
    part.close()
    read = _read_v1 if "tfReplicaSpecs" in spec else _read_v1alpha1
    return read(spec, settings, beside)


def _read_v1(spec: Part, settings: Document, beside: Beside) -> Translation:
    policy, limit = _run_policy(spec)
    success = spec.text("successPolicy") or ""
    if success not in ("", "AllWorkers"):
        spec.fail("successPolicy", f"must be empty or AllWorkers, got {success!r}")
    spec.refuse(enableDynamicWorker="is not supported: the number of workers of a run is fixed")
    types = spec.part("tfReplicaSpecs")
    spec.close()
    replicas = [_replica(types.part(name), name, limit, beside) for name in list(types)]
    if not replicas:
        raise JobFileError(types.key, "names no replicas")
    check(replicas)
    if not success:
        settings = {**settings, **_first_worker_decides(replicas)}
    return run_of(replicas, {**settings, **policy}, spec.remarks)


def _run_policy(spec: Part) -> tuple[Document, int | None]:
    """Settings of the run, and how often a task is restarted; early versions had no such part."""
    settings: Document = {}
    limit = None
    for part in (spec, spec.part("runPolicy")):
        if (seconds := part.whole("activeDeadlineSeconds")) is not None:
            settings["run_timeout"] = seconds
        if (found := part.whole("backoffLimit")) is not None:
            part.remark("backoffLimit", "counts the restarts of each task, not of all together")
            limit = found
        _clean(part, "cleanPodPolicy")
        part.warn(
            ttlSecondsAfterFinished=_NOTHING_LEFT,
            schedulingPolicy=_ALL_AT_ONCE,
            managedBy="has no effect here: there is no operator",
        )
        part.refuse(suspend="is not supported: a run starts at once")
        if part is not spec:
            part.close()
    return settings, limit


def _clean(part: Part, name: str) -> None:
    if part.text(name) not in (None, "", "All", "Running"):
        part.remark(name, _NOTHING_LEFT)


def _replica(part: Part, name: str, limit: int | None, beside: Beside) -> Replica:
    job = type_of(name, part.key)
    num, policy = part.whole("replicas"), part.text("restartPolicy") or "Never"
    pod = read_pod(part.part("template"), beside.mounted)
    part.close()
    if pod is None:
        part.fail("template", "must have a container named tensorflow")
    if pod.restart_policy:
        reason = "restartPolicy has no effect here: the restartPolicy of the replicas applies"
        part.remark("template", reason)
    if policy == "Always":
        part.remark("restartPolicy", "Always: a task that exits with 0 is not restarted")
    more = restarts(policy, limit, part.key_of("restartPolicy"))
    return Replica(job, 1 if num is None else num, pod, part.key, more)


def _first_worker_decides(replicas: list[Replica]) -> Document:
    """Without a chief, the operator lets worker 0 decide; here all workers would."""
    sizes = {one.job: one.num for one in replicas}
    has_chief = any(sizes.get(job) for job in CHIEFS)
    return {"success": "worker:0"} if sizes.get("worker", 0) > 1 and not has_chief else {}


# v1alpha1


def _read_v1alpha1(spec: Part, settings: Document, beside: Beside) -> Translation:
    image, chief = spec.text("tfImage"), _chief(spec.part("terminationPolicy"))
    spec.drop("RuntimeId", "runtimeId")
    _clean(spec, "cleanupPodPolicy")
    spec.warn(schedulerName="has no effect here: there is no other scheduler")
    board = spec.part("tensorboard") if "tensorboard" in spec else None
    key = "replica_specs" if "replica_specs" in spec else "replicaSpecs"
    replicas = [_old_replica(part, beside) for part in spec.parts(key)]
    spec.close()
    check(replicas)
    if not chief and not any(one.job == "master" and one.num for one in replicas):
        raise JobFileError(spec.key_of(key), "must contain one replica of type MASTER")
    if board is not None:
        replicas.append(_board(board, beside))
    image = image or next((one.pod.fields.get("image") for one in replicas if one.pod), None)
    replicas = [_in_image(one, image) for one in replicas]
    return run_of(replicas, {**settings, **chief}, spec.remarks)


def _chief(policy: Part) -> Document:
    """The task that decides, if it is not the MASTER."""
    part = policy.part("chief")
    name, index = part.text("replicaName") or "MASTER", part.whole("replicaIndex") or 0
    part.close()
    policy.close()
    job = type_of(name, part.key_of("replicaName"))
    return {} if job == "master" else {"success": f"{job}:{index}"}


def _old_replica(part: Part, beside: Beside) -> Replica:
    name = part.text("tfReplicaType") or part.text("tf_replica_type") or "MASTER"
    if name not in ("MASTER", "WORKER", "PS"):
        part.fail("tfReplicaType", f"must be MASTER, WORKER or PS, got {name!r}")
    job, num = name.lower(), part.whole("replicas")
    port, is_default = part.whole("tfPort"), part.flag("IsDefaultPS")
    if is_default:
        part.drop("template")  # the operator wrote it
    pod = read_pod(part.part("template"), beside.mounted)
    part.close()
    if pod is None and job != "ps":
        part.fail("template", f"must have a container named tensorflow: {name} runs it")
    if pod and pod.restart_policy not in ("", "OnFailure"):
        part.remark("template", f"restartPolicy has no effect here: {name} is started again")
    # The master's own errors are final; workers and ps are started again whatever they end with.
    policy = restarts("ExitCode" if job == "master" else "OnFailure", None, part.key)
    more = policy | ({} if port is None else {"port": port})
    return Replica(job, 1 if num is None else num, pod, part.key, more)


def _board(part: Part, beside: Beside) -> Replica:
    log_dir = part.text("logDir")
    if not log_dir:
        part.fail("logDir", "is missing: name the directory of the event files")
    part.warn(serviceType="has no effect here: TensorBoard prints its address")
    mounts, scratch = mounts_of(part, volumes_of(part), beside.mounted)
    part.close()
    fields = {**tensorboard_job.job(log_dir), "port": tensorboard_job.PORT}
    return Replica(tensorboard_job.JOB, 1, Pod(fields, mounts, scratch), part.key)


def _in_image(one: Replica, image: str | None) -> Replica:
    """Servers and TensorBoard run in the image named for them, or in that of the others."""
    has_own = image is None or (one.pod is not None and one.pod.fields.get("image"))
    return one if has_own else one.replace(more={**one.more, "image": image})
