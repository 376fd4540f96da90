"""A job file: read, translated and checked, and able to say in which line something is wrong."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, cast

from ...config.kubernetes_settings import SCHEME
from ...errors import CannotRead, SpecError
from ...jobfiles.formats import translate
from ...jobfiles.native import changed, jobs_and_settings, key_of
from ...jobfiles.reading import MAX_BYTES, Tree, read
from ...jobfiles.translation import Document, Translation
from .configuration import make_config
from .image_command import with_image_commands
from .named_file import beginning

if TYPE_CHECKING:
    from ...config.jobs import Jobs
    from ...config.launch import LaunchConfig
    from ...config.settings import Settings

    Asked = Jobs | str | os.PathLike[str]

STANDARD_INPUT = "-"


class JobFile:
    def __init__(self, path: str, master: str | None = None) -> None:
        """CannotRead if it cannot be read, JobFileError if it is wrong.

        *master* is what was said besides: a TFJob means more on a Kubernetes.
        """
        name = "standard input" if path == STANDARD_INPUT else path
        self._tree: Tree = read(_content(path, name), name)
        self._translation: Translation = translate(
            self._tree, (master or os.environ.get("MESOS_MASTER", "")).startswith(SCHEME)
        )

    @property
    def document(self) -> Document:
        return self._translation.document

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(f"{self._tree.name}: {remark}" for remark in self._translation.remarks)

    def completed(self, document: Document) -> Document:
        """This document, or one that was made of it, with what only its images know."""
        return with_image_commands(document)

    def located(self, error: SpecError) -> SpecError:
        """The error with file and line, if it is one of the file's."""
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


def config_from(jobs: Asked, changes: Settings) -> LaunchConfig:
    """The configuration of a call from Python: *jobs*, or the job file of that name."""
    if not isinstance(jobs, (str, os.PathLike)):
        return make_config(jobs, **changes)
    file = JobFile(os.fspath(jobs), changes.get("master"))
    try:
        asked = file.completed(changed(file.document, dict(changes)))
        found, settings = jobs_and_settings(asked)
        config = make_config(found, **cast("Settings", settings))
    except SpecError as error:
        raise error if error.field in changes else file.located(error) from None
    return config.but(warnings=(*config.warnings, *file.remarks))
