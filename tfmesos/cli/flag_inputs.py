"""A command line as inputs of a run: its job file, and what its flags change."""

from __future__ import annotations

import argparse
import os
from functools import partial
from typing import TYPE_CHECKING

from ..errors import SpecError
from ..inputs.profile import Profile, profile_of
from ..inputs.resolve import NO_DOCUMENT, Inputs
from ..jobfiles.translation import Document
from .arguments import FLAGS, settings_of
from .job_flags import destination, job_changes

if TYPE_CHECKING:
    from ..inputs.job_file import JobFile


def inputs_of(args: argparse.Namespace) -> Inputs:
    profile = profile_of(vars(args), os.environ)
    file = job_file_of(args, profile)
    return Inputs(file, profile, partial(_changes, args), partial(_is_by_flag, args))


def job_file_of(args: argparse.Namespace, profile: Profile) -> JobFile | None:
    if args.job_file is None:
        return None
    from ..inputs.job_file import JobFile, said_beside

    return JobFile(args.job_file, said_beside(vars(args), profile))


def _changes(args: argparse.Namespace, document: Document) -> Document:
    """What the flags change of *document*, which is that of the job file."""
    changes: Document = {**settings_of(args), "jobs": job_changes(args, document["jobs"])}
    if args.cmd:
        changes["cmd"] = args.cmd[0] if len(args.cmd) == 1 else args.cmd
    elif document == NO_DOCUMENT and not args.entry:
        problem = "is missing: give it at the end, tfrun -w 2 -- python train.py"
        raise SpecError(None, "cmd", problem)
    return changes


def _is_by_flag(args: argparse.Namespace, error: SpecError) -> bool:
    """Does the error concern something on the command line?"""
    if error.field == "cmd":
        return bool(args.cmd)
    if any(text.startswith(f"{error.job}=") for text in args.job or ()):
        return True
    if error.is_about_name_of_job:
        return False
    places = {destination(flag) for flag in FLAGS if flag.field == error.field}
    own = f"{error.job}_{error.field}"
    return any(getattr(args, place, None) is not None for place in places & {own, error.field})
