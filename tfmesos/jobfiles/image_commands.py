"""Jobs that run the command of their image: ``args`` alone follow its entry point."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..errors import SpecError
from ..record import Record
from .translation import Document

NAME_IT = "name the command in the file, or after --"


class ImageCommand(Record):
    """What an image says about the command that runs in it."""

    entry_point: tuple[str, ...]
    arguments: tuple[str, ...] = ()  # unless others are given
    directory: str = ""  # where it runs

    def with_arguments(self, given: Sequence[str]) -> list[str]:
        return [*self.entry_point, *(given or self.arguments)]


def images_wanted(document: Document) -> dict[str, str]:
    """Job -> image, for the jobs whose command only the image knows."""
    if document.get("cmd") is not None or document.get("entry"):
        return {}
    jobs = document["jobs"].items()
    return {
        name: _image_of(name, job, document)
        for name, job in jobs
        if "args" in job and job.get("cmd") is None and not job.get("serve")
    }


def _image_of(name: str, job: Document, document: Document) -> str:
    image = job.get("image") or document.get("image")
    if not image:
        problem = f"is missing, and there is no image that might have one: {NAME_IT}"
        raise SpecError(name, "args", problem)
    return str(image)


def filled_in(document: Document, commands: Mapping[str, ImageCommand]) -> Document:
    """The document with the commands and directories of these jobs."""
    jobs = dict(document["jobs"])
    for name, command in commands.items():
        job = {field: value for field, value in jobs[name].items() if field != "args"}
        if not (cmd := command.with_arguments(jobs[name]["args"] or ())):
            problem = f"is missing, and its image has none: {NAME_IT}"
            raise SpecError(name, "args", problem)
        directory = {} if document.get("cwd") else {"cwd": command.directory or None}
        jobs[name] = {**directory, **job, "cmd": cmd}
    return {**document, "jobs": jobs}


def joined(cmd: Any, args: Any) -> Any:
    """A command and the arguments that follow it."""
    if not args or cmd is None:
        return cmd
    return f"{cmd} {shlex.join(args)}" if isinstance(cmd, str) else [*cmd, *args]
