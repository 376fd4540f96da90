"""Reads, translates and checks a job file; errors name the line."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from ..config.engine_kinds import engine_at
from ..config.volumes import parse_volumes
from ..errors import CannotRead, SpecError
from ..jobfiles.formats import rewritten_tfjob, translate
from ..jobfiles.native import key_of
from ..jobfiles.reading import MAX_BYTES, Tree, read
from ..jobfiles.tfjob import document as tfjob
from ..jobfiles.translation import NOTHING_BESIDE, Beside, Document, Key, Translation
from ..plain_file import beginning
from .image_entry_point import with_image_commands
from .merging import absolute
from .profile import Profile

STANDARD_INPUT = "-"


class JobFile:
    def __init__(self, path: str, beside: Beside = NOTHING_BESIDE) -> None:
        """CannotRead if it cannot be read, JobFileError if it is wrong."""
        name = "standard input" if path == STANDARD_INPUT else path
        self._tree: Tree = read(_content(path, name), name)
        self._translation: Translation = translate(self._tree, beside)

    @property
    def document(self) -> Document:
        return self._translation.document

    @property
    def remarks(self) -> tuple[str, ...]:
        left_out = (f"{other} is left out: it is not a TFJob" for other in self._tree.left_out)
        return tuple(
            f"{self._tree.name}: {text}" for text in (*left_out, *self._translation.remarks)
        )

    def completed(self, document: Document) -> Document:
        """This document, or one derived from it, with the commands that only its images know."""
        return with_image_commands(document)

    def as_tfjob(self, document: Document) -> str | None:
        """The document, which was derived from the file's, as a TFJob, if the file is one."""
        tree = self._tree.value
        return rewritten_tfjob(tree, self.document, document) if tfjob.is_mine(tree) else None

    def place_of(self, key: Key) -> str:
        """The file and line where it is."""
        return self._tree.locate(self._translation.origins.get(key, key), "").place

    def located(self, error: SpecError) -> SpecError:
        """The error with file and line, if the file is to blame."""
        key = key_of(self.document, error)
        if key is None:
            return error
        found = self._tree.locate(self._translation.origins.get(key, key), error.problem)
        found.exit_code = error.exit_code
        return found


def _content(path: str, name: str) -> bytes:
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        return beginning(path, MAX_BYTES + 1)
    except (OSError, ValueError) as error:  # a path with a zero byte is a ValueError
        why = error.strerror if isinstance(error, OSError) else error
        raise CannotRead(f"the job file cannot be read: {name}: {why}") from None


def said_beside(given: Mapping[str, Any], profile: Profile) -> Beside:
    """The settings *given* with a file, or in a *profile*, that affect the meaning of the file."""
    said = profile.under({name: given.get(name) for name in ("master", "log_dir", "volumes")})
    master = said.get("master") or os.environ.get("MESOS_MASTER", "")
    return Beside(
        runs_pods=engine_at(str(master)).runs_pods or given.get("dry_run") == "tfjob",
        log_dir=absolute(said.get("log_dir")),
        mounted=tuple(one.container for one in parse_volumes(said.get("volumes") or ())),
    )
