"""The file with a pod on which the pods of the tasks are based."""

from __future__ import annotations

import os
from typing import Any

from ..errors import SpecError
from ..json_types import Json
from .named_file import content_of

_PARTS = ("metadata", "spec")
_KINDS = {"Pod": (), "PodTemplate": ("template",), "PodTemplateSpec": (), "": ()}


def read_template(path: str | os.PathLike[str] | None) -> Json:
    """The ``metadata`` and ``spec`` in it; SpecError if it has others."""
    if path is None:
        return {}
    from ..jobfiles.reading import MAX_BYTES, read  # YAML is not cheap
    from ..jobfiles.translation import JobFileError

    content = content_of("pod_template", os.fspath(path), MAX_BYTES + 1)
    try:
        tree = read(content, os.fspath(path)).value
    except JobFileError as error:
        raise SpecError(None, "pod_template", f"cannot be used: {error}") from None
    return _checked(tree, path)


def _checked(tree: dict[str, Any], path: object) -> Json:
    kind = tree.pop("kind", "")
    tree.pop("apiVersion", None)
    if kind not in _KINDS:
        raise SpecError(None, "pod_template", f"must be a Pod, got kind {kind!r} in {path}")
    for name in _KINDS[kind]:
        tree = tree.get(name) or {}
    for name, part in tree.items():
        if name not in _PARTS or not isinstance(part, dict):
            problem = f"may contain only metadata and spec of a Pod, got {name!r} in {path}"
            raise SpecError(None, "pod_template", problem)
    return tree
