"""A TFJob with the changes that flags make: everything else stays as it is in its file."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from ...config.job import Job
from ..export_common import jobs_of, refuse_others
from ..translation import Document
from .export import SETTINGS, TFJOB, from_ours, metadata_name, replica, run_policy, success, type_of
from .replicas import CHIEFS, TYPES
from .replicas import type_of as job_of

_AMOUNTS = ("num", "cpus", "mem", "gpus", "disk")
_ONLY_HERE = ("master", "namespace", "jobs")  # set for the run, or kept in the file's own words
_COMMAND = ("command", "args")


def rewritten(tree: dict[str, Any], before: Document, after: Document) -> Document:
    """*tree*, which means *before*, changed so that it means *after*; both as on Kubernetes.

    JobFileError or SpecError for what a TFJob cannot express.
    """
    old, new = _without_templates(before), _policies_as_before(_without_templates(after), before)
    changed = {field: value for field, value in new.items() if value != old.get(field)}
    refuse_others(changed, (*SETTINGS, *_ONLY_HERE), (), TFJOB)
    old = _policies_as_before(old, before)
    result = copy.deepcopy(tree) if "tfReplicaSpecs" in tree["spec"] else _as_v1(tree, old)
    if "name" in changed:
        result["metadata"] = {**result.get("metadata", {}), "name": metadata_name(new)}
        result["metadata"].pop("generateName", None)
    _change_spec(result["spec"], old, new)
    return result


def _without_templates(document: Document) -> Document:
    jobs = {
        name: {field: value for field, value in job.items() if field != "pod_template"}
        for name, job in document["jobs"].items()
    }
    return {**document, "jobs": jobs}


def _policies_as_before(document: Document, before: Document) -> Document:
    """On Kubernetes all tasks are restarted where the TFJob means one: see on_kubernetes."""

    def restored(place: Document, was: Document) -> Document:
        is_same = place.get("restart_policy") == was.get("restart_policy") == "all"
        return {**place, "restart_policy": "task"} if is_same else place

    jobs = before["jobs"]
    found = {name: restored(job, jobs.get(name, {})) for name, job in document["jobs"].items()}
    return {**restored(document, before), "jobs": found}


def _as_v1(tree: dict[str, Any], document: Document) -> Document:
    """A TfJob of the first version with its metadata and templates."""
    result = from_ours({field: value for field, value in document.items() if field in SETTINGS})
    result["metadata"] = copy.deepcopy(tree.get("metadata", {}))
    specs = tree["spec"].get("replicaSpecs") or tree["spec"].get("replica_specs") or []
    for one in specs:
        kind = one.get("tfReplicaType") or one.get("tf_replica_type") or "MASTER"
        name = next(theirs for theirs, ours in TYPES.items() if ours == kind.lower())
        if one.get("template") and name in result["spec"]["tfReplicaSpecs"]:
            result["spec"]["tfReplicaSpecs"][name]["template"] = copy.deepcopy(one["template"])
    return result


def _change_spec(spec: Document, old: Document, new: Document) -> None:
    was, now = jobs_of(old), jobs_of(new)
    if (old.get("success"), _deciders(was)) != (new.get("success"), _deciders(now)):
        spec |= _patched(spec, success(old, was), success(new, now))
    if old.get("run_timeout") != new.get("run_timeout") or _limits(was) != _limits(now):
        given = spec.get("runPolicy") or {}
        spec["runPolicy"] = _patched(given, run_policy(old, was), run_policy(new, now))
    types = spec["tfReplicaSpecs"]
    names = {job_of(name, ()): name for name in types}
    for job, fields in now.items():
        Job(job, **{field: fields[field] for field in _AMOUNTS})  # SpecError if one is wrong
        if job not in names:
            types[type_of(job, fields)] = replica(job, fields, new)
        elif job not in was:  # the file has none of these tasks
            types[names[job]]["replicas"] = fields["num"]
        else:
            types[names[job]] = _changed_replica(types[names[job]], job, old, new)


def _deciders(jobs: Mapping[str, Document]) -> dict[str, Any]:
    return {name: jobs[name]["num"] for name in (*CHIEFS, "worker") if name in jobs}


def _limits(jobs: Mapping[str, Document]) -> list[Any]:
    return [(job.get("restart_policy"), job.get("restarts")) for job in jobs.values()]


def _changed_replica(given: Document, job: str, old: Document, new: Document) -> Document:
    was, now = jobs_of(old)[job], jobs_of(new)[job]
    of_pods = ("volumes", "force_pull_image")
    if was == now and all(old.get(field) == new.get(field) for field in of_pods):
        return given
    volumes = given["template"]["spec"].get("volumes") or []
    is_taken = any(str(one.get("name")).startswith("volume-") for one in volumes)
    prefix = "more-volume" if is_taken else "volume"
    before, after = replica(job, was, old, prefix), replica(job, now, new, prefix)
    result: Document = _patched(given, before, after)
    _change_command(_containers(before)[0], _containers(after)[0], _containers(result))
    return result


def _containers(replica: Document) -> list[Document]:
    found: list[Document] = replica["template"]["spec"]["containers"]
    return found


def _change_command(before: Document, after: Document, containers: list[Document]) -> None:
    """Command and arguments belong together; the border between them may have moved."""
    if all(before.get(name) == after.get(name) for name in _COMMAND):
        return
    own = next(one for one in containers if one.get("name") == after["name"])
    for name in _COMMAND:
        own.pop(name, None)
    own |= {name: after[name] for name in _COMMAND if name in after}


def _patched(given: Any, before: Any, after: Any) -> Any:
    """*given* with the differences between *before* and *after*."""
    if before == after:
        return given
    if isinstance(after, list) and all(_name(one) for one in [*after, *(before or [])]):
        named = _patched(*({_name(x): x for x in one or []} for one in (given, before, after)))
        return list(named.values())
    if not isinstance(after, dict):
        return after
    given, before = given or {}, before or {}
    result = {key: one for key, one in given.items() if key in after or key not in before}
    for key, value in after.items():
        if before.get(key) != value:
            result[key] = _patched(given.get(key), before.get(key), value)
    return result


def _name(one: Any) -> str:
    """The key that identifies an entry of a list."""
    return str(one.get("mountPath") or one.get("name") or "") if isinstance(one, dict) else ""
