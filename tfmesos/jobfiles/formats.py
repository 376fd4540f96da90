"""The formats of job files that there are, told apart by what a document holds."""

from __future__ import annotations

import json
from typing import Any, Protocol

from . import dcos, marathon, tfjob
from .native import checked
from .reading import Tree
from .translation import Document, JobFileError, Translation


class Format(Protocol):
    """A module of a foreign format; see ``translation``."""

    def is_mine(self, tree: dict[str, Any]) -> bool: ...

    def to_ours(self, tree: dict[str, Any]) -> Translation: ...


FOREIGN: tuple[Format, ...] = (tfjob, marathon, dcos)  # asked in turn


def written(document: Document, format: str) -> str:
    """The document in a foreign format; JobFileError with the key that the format has no word for.

    The document has been checked, with all that flags say.
    """
    if format == "marathon":
        return json.dumps(marathon.from_ours(document), indent=2) + "\n"
    from .writing import yaml_of

    return yaml_of(tfjob.from_ours(document))


def translate(tree: Tree) -> Translation:
    """The document in our format; JobFileError with file and line if it is wrong."""
    foreign = next((one for one in FOREIGN if one.is_mine(tree.value)), None)
    try:
        if foreign is None:
            return Translation(checked(tree.value))
        found = foreign.to_ours(tree.value)
        return found.but(document=checked(found.document))
    except JobFileError as error:
        raise tree.locate(error.key, error.problem) from None
