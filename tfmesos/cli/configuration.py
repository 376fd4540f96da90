"""Flags, and the job file beside them, -> LaunchConfig."""

from __future__ import annotations

import argparse
from typing import cast

from ..config.launch import LaunchConfig
from ..errors import SpecError
from ..jobfiles.native import changed, jobs_and_settings
from ..jobfiles.translation import Document
from ..launcher.inputs.configuration import make_config
from .arguments import FLAGS, settings_of
from .jobs import destination, job_changes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..config.settings import Settings
    from ..launcher.inputs.job_file import JobFile


def config_of(args: argparse.Namespace, file: JobFile | None) -> LaunchConfig:
    """What is to run: a flag wins over the file, and that over the environment."""
    try:
        asked = asked_for(args, file)
        jobs, settings = jobs_and_settings(file.completed(asked) if file else asked)
        config = make_config(jobs, **cast("Settings", settings))
    except SpecError as error:
        raise located(error, args, file) from None
    return config.but(warnings=(*config.warnings, *file.remarks)) if file else config


def job_file_of(args: argparse.Namespace) -> JobFile | None:
    if args.job_file is None:
        return None
    from ..launcher.inputs.job_file import JobFile

    return JobFile(args.job_file, args.master)


def located(error: SpecError, args: argparse.Namespace, file: JobFile | None) -> SpecError:
    """The error with the line of the file, if that and no flag is to blame."""
    return error if file is None or _is_by_flag(args, error) else file.located(error)


def asked_for(args: argparse.Namespace, file: JobFile | None) -> Document:
    """The document of the file, with what the flags change of it."""
    document = file.document if file else {"jobs": {}}
    changes: Document = {**settings_of(args), "jobs": job_changes(args, document["jobs"])}
    if args.cmd:
        changes["cmd"] = args.cmd[0] if len(args.cmd) == 1 else args.cmd
        _check_use(document)
    elif document == {"jobs": {}} and not args.entry:
        problem = "is missing: give it at the end, tfrun -w 2 -- python train.py"
        raise SpecError(None, "cmd", problem)
    return changed(_without_other(document, changes), changes)


def _without_other(document: Document, changes: Document) -> Document:
    """A command takes the place of the file's function, and the other way round."""
    given = {"cmd", "entry"} & {field for field, value in changes.items() if value is not None}
    dropped = {"cmd": ("entry", "context", "log_dir"), "entry": ("cmd",)}
    gone = {field for one in given for field in dropped[one]}
    return {field: value for field, value in document.items() if field not in gone}


def _check_use(document: Document) -> None:
    """Of the command that was given beside a file."""
    jobs = document["jobs"]
    if jobs and all(job.get("cmd") is not None or job.get("serve") for job in jobs.values()):
        problem = "is run by no job: each one in the file has a command of its own, or serves"
        raise SpecError(None, "cmd", problem)


def _is_by_flag(args: argparse.Namespace, error: SpecError) -> bool:
    """Is it about something that the command line says?"""
    if error.field == "cmd":
        return bool(args.cmd)
    if any(text.startswith(f"{error.job}=") for text in args.job or ()):
        return True
    if error.is_about_name_of_job:
        return False
    places = {destination(flag) for flag in FLAGS if flag.field == error.field}
    own = f"{error.job}_{error.field}"
    return any(getattr(args, place, None) is not None for place in places & {own, error.field})
