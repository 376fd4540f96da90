"""Which directories of a container come from outside its image."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from posixpath import normpath
from typing import Any

from .job import Job
from .kubernetes_settings import PodSettings
from .volumes import Volume


def is_mounted(path: str, job: Job, volumes: Iterable[Volume], pods: PodSettings) -> bool:
    """Does *path* of a container of *job* lie in one of its volumes?"""
    templates = (pods.pod_template, json.loads(str(job.pod_template or "{}")))
    places = [
        *(volume.container for volume in volumes),
        *(claim.path for claim in pods.claims),
        *(place for template in templates for place in _places_of(template)),
    ]
    return any(_is_below(path, place) for place in places)


def _is_below(path: str, place: str) -> bool:
    return f"{normpath(path)}/".startswith(f"{normpath(place).rstrip('/')}/")


def _places_of(template: Mapping[str, Any]) -> Iterator[str]:
    """A template is the user's, and may have any form."""
    for container in _mappings(_mapping(template.get("spec")).get("containers")):
        for mount in _mappings(container.get("volumeMounts")):
            if isinstance(place := mount.get("mountPath"), str):
                yield place


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _mappings(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
