"""Merges our pod with the pod template of the user."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from ....config.job import Job
from ....config.launch_config import LaunchConfig
from ....json_types import Json
from ..pod_status import CONTAINER

# Lists whose entries have a name of their own; all others are of one piece, except those of rules
# and mounts, to which we add.
_NAMED = ("env", "volumes", "containers", "initContainers")
_ADDED = ("volumeMounts", "tolerations", "topologySpreadConstraints", "ports", "imagePullSecrets")
_RULES = "DuringSchedulingIgnoredDuringExecution"
_PLACEHOLDER = re.compile(r"(?<!\$)\{(run|job|index)\}")  # ${run} is a shell's


def filled(template: Any, values: Mapping[str, str]) -> Any:
    """*template* with the values of ``{run}``, ``{job}`` and ``{index}`` in its texts."""
    if isinstance(template, str):
        return _PLACEHOLDER.sub(lambda found: values[found[1]], template)
    if isinstance(template, Mapping):
        return {name: filled(value, values) for name, value in template.items()}
    return [filled(one, values) for one in template] if isinstance(template, list) else template


def laid_over(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Json:
    """Both merged; *ours* wins where they differ."""
    merged = dict(theirs)
    for name, value in ours.items():
        merged[name] = _merged(name, merged[name], value) if name in merged else value
    return merged


def _merged(name: str, theirs: Any, ours: Any) -> Any:
    if isinstance(theirs, Mapping) and isinstance(ours, Mapping):
        return _selected(name, theirs, ours) or laid_over(theirs, ours)
    if isinstance(theirs, list) and isinstance(ours, list):
        if name in _NAMED:
            return _by_name(theirs, ours)
        if name in _ADDED or name.endswith(_RULES):
            return [*theirs, *ours]
    return ours


def _selected(name: str, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Json | None:
    """Terms of node selectors are alternatives: our rules must hold in each of theirs."""
    if not name.endswith(_RULES) or "nodeSelectorTerms" not in ours:
        return None
    rules = ours["nodeSelectorTerms"][0]["matchExpressions"]
    terms = theirs.get("nodeSelectorTerms") or [{}]
    merged = [
        {**term, "matchExpressions": [*term.get("matchExpressions", []), *rules]} for term in terms
    ]
    return {"nodeSelectorTerms": merged}


def _by_name(theirs: list[Any], ours: list[Any]) -> list[Any]:
    named = {one.get("name"): one for one in ours if isinstance(one, Mapping)}
    merged = [
        laid_over(one, named.pop(one.get("name"), {})) if isinstance(one, Mapping) else one
        for one in theirs
    ]
    return [*named.values(), *merged]


def of_job(config: LaunchConfig, job: Job) -> Json:
    """The template of the run, under that of the job."""
    found: Json = {}
    own = json.loads(str(job.pod_template or "{}"))
    for template in (config.pods.pod_template, own):
        spec = template.get("spec")
        named = {"spec": with_our_container(spec)} if isinstance(spec, Mapping) else {}
        found = laid_over(found, {**template, **named})
    return found


def with_our_container(spec: Mapping[str, Any]) -> Json:
    """The spec of a template, with our name for the container of the task."""
    containers = spec.get("containers")
    if not isinstance(containers, list) or any(
        isinstance(one, Mapping) and one.get("name") == CONTAINER for one in containers
    ):
        return dict(spec)
    if len(containers) != 1 or not isinstance(containers[0], Mapping):
        return dict(spec)
    return {**spec, "containers": [{**containers[0], "name": CONTAINER}]}


def container_of(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """What such a spec says about the container of the task."""
    containers = spec.get("containers")
    found = containers if isinstance(containers, list) else []
    ours = (one for one in found if isinstance(one, Mapping) and one.get("name") == CONTAINER)
    return next(ours, {})
