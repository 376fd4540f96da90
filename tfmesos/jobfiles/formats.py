"""The formats of job files, recognized by the content of a document."""

from __future__ import annotations

import json
from typing import Any, Protocol

from . import dcos
from .marathon import group as marathon
from .native import checked
from .reading import Tree
from .tfjob import document as tfjob
from .tfjob import on_kubernetes as tfjob_on_kubernetes
from .translation import NOTHING_BESIDE, Beside, Document, JobFileError, Translation


class Reader(Protocol):
    def to_ours(self, tree: dict[str, Any], beside: Beside) -> Translation: ...


class Format(Reader, Protocol):
    """A module of a foreign format; see ``translation``."""

    def is_mine(self, tree: dict[str, Any]) -> bool: ...


FOREIGN: tuple[Format, ...] = (tfjob, marathon, dcos)  # asked in turn


def written(document: Document, format: str) -> str:
    """The document in a foreign format; JobFileError with the key that the format has no word for.

    The document has been checked, including the flags.
    """
    if format == "marathon":
        return json.dumps(marathon.from_ours(document), indent=2) + "\n"
    from .writing import yaml_of

    return yaml_of(tfjob.from_ours(document))


def rewritten_tfjob(tree: dict[str, Any], before: Document, after: Document) -> str:
    """The TFJob *tree*, which means *before*, changed so that it means *after*."""
    from .tfjob.rewriting import rewritten
    from .writing import yaml_of

    return yaml_of(rewritten(tree, before, after))


def translate(tree: Tree, beside: Beside = NOTHING_BESIDE) -> Translation:
    """The document in our format; JobFileError with file and line if it is wrong."""
    foreign = next((one for one in FOREIGN if one.is_mine(tree.value)), None)
    reader: Reader | None = foreign
    if foreign is tfjob and beside.runs_pods:
        reader = tfjob_on_kubernetes
    try:
        if reader is None:
            return Translation(checked(tree.value))
        found = reader.to_ours(tree.value, beside)
        return found.replace(document=checked(found.document))
    except JobFileError as error:
        raise tree.locate(error.key, error.problem) from None
