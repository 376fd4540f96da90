"""``tfrun update``: continue a run with different jobs."""

from __future__ import annotations

import argparse
from typing import Any

from ...config.changes import Changes
from ...config.launch_config import LaunchConfig
from ...errors import SpecError
from ...jobfiles import ENDINGS
from ...runs.control import ask
from ...runs.run_files import RunDirectory
from ...runs.status import RollingUpdate, RunStatus, status_now
from ..arguments import FLAGS, argument_of, variables
from ..job_flags import JOB_FLAGS, job_changes, role_names
from .answer import say
from .choice import end_of, living_run, until
from .common_arguments import LIVING, NO_WAIT, Argument, switch

HELP = (
    "change a running run: stop all tasks within their grace period and start them with the "
    "changes and a fresh cluster spec; a command after -- replaces the old one"
)
TAKES_COMMAND = True
_SETTINGS = ("constraints", "env", "image")
_FLAGS = [f for f in JOB_FLAGS if f.field != "serve"] + [f for f in FLAGS if f.field in _SETTINGS]
ARGUMENTS: tuple[Argument, ...] = (
    LIVING,
    (
        ("file",),
        {"nargs": "?", "metavar": "FILE", "help": "job file with the new jobs"},
    ),
    *(argument_of(flag, has_default=False) for flag in _FLAGS),
    switch("--back", help="undo the last update: restore the jobs as they were before it"),
    switch(
        "--rolling",
        help=(
            "restart the tasks one after the other, each at its old address; the number of tasks "
            "cannot change"
        ),
    ),
    switch("--dry-run", help="show what would change, but change nothing"),
    NO_WAIT,
)
LOOK_WITHIN = 3600.0  # seconds: an image may have to be pulled first


def run(args: argparse.Namespace) -> int:
    if args.file is None and (args.id or "").endswith(ENDINGS):
        args.id, args.file = None, args.id
    found = living_run(args.id)
    changes = changes_of(args)
    before = status_now(found)
    answer = ask(found, "update", within=LOOK_WITHIN, changes=changes, dry_run=args.dry_run)
    for line in answer["difference"] or ["nothing to change: the run already has these settings"]:
        say(f"{found.id}: {line}")
    if not answer["difference"]:
        return 0
    if args.dry_run or args.no_wait:
        return 0
    if args.rolling:
        return _wait_for_rolling(found, len(before.updates))
    return wait_for_generation(found, before.generation + 1)


def _wait_for_rolling(run: RunDirectory, number: int) -> int:
    """Until it is over."""

    def found() -> list[RollingUpdate]:
        return [one for one in status_now(run).updates[number:] if not one.is_going_on]

    until(lambda: run.is_over or bool(found()))
    for one in found():
        say(f"{run.id}: {one.words}")
        return 1 if one.problem else 0
    say(f"{run.id} ended before all tasks were updated")
    return end_of(run) or 1


def wait_for_generation(run: RunDirectory, number: int, hint: str = "") -> int:
    """Wait until all tasks of the generation are running; *hint* says why that may never happen."""
    until(lambda: run.is_over or _has_begun(status_now(run), number))
    status = status_now(run)
    if status.generation > number:
        later = status.generations[-1]
        say(f"{run.id}: generation {later.number} has replaced generation {number}: {later.why}")
        return 0
    if not _has_begun(status, number):
        without = "without another generation"
        if status.generation == number:
            without = f"before all tasks of generation {number} were running"
        say(f"{run.id} ended {without}{hint}")
        return end_of(run) or 1
    say(f"{run.id}: generation {number} runs: {status.generations[number].words}")
    return 0


def _has_begun(status: RunStatus, number: int) -> bool:
    """Have the tasks of this generation begun, or those of a later one?"""
    return status.generation > number or (status.generation == number and status.has_begun)


def changes_of(args: argparse.Namespace) -> Changes:
    """The requested changes, as a document."""
    jobs = job_changes(args, {name: {} for name in role_names()})
    given: dict[str, Any] = {
        "jobs": {name: fields for name, fields in jobs.items() if fields},
        "constraints": args.constraints,
        "env": variables(args.env or ()),
        "image": args.image,
        "cmd": args.cmd[0] if len(args.cmd) == 1 else args.cmd,
        "back": args.back,
        "rolling": args.rolling,
    }
    of_file = changes_in(args.file) if args.file else {}
    changes = {key: value for key, value in given.items() if value}
    if not changes.keys() - {"rolling"} and not of_file:
        raise SpecError(None, "update", "needs a change, such as -w 4, or --back")
    for name, fields in changes.pop("jobs", {}).items():
        of_file.setdefault("jobs", {})[name] = {**of_file.get("jobs", {}).get(name, {}), **fields}
    return {**of_file, **changes}


def changes_in(path: str) -> dict[str, Any]:
    """The new jobs from a job file, with everything that the file says about them."""
    from ...inputs.resolve import config_of_call

    config = config_of_call(path, {})
    return {"whole": True, "jobs": {job.name: _fields(config, job) for job in config.jobs}}


def _fields(config: LaunchConfig, job: Any) -> dict[str, Any]:
    usual = type(job)._defaults
    fields = {name: getattr(job, name) for name in usual if name != "type_offset"}
    fields |= {
        "num": job.num,
        "constraints": [str(one) for one in job.constraints],
        "retry_codes": None if job.retry_codes is None else sorted(job.retry_codes),
        "env": config.env_of(job),
        "image": config.image_of(job) or "",
        "cwd": job.cwd or (config.cwd if config.cwd_is_given else None),
    }
    return fields
