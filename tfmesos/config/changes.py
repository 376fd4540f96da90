"""What an update changes in a run: its jobs, and the command and settings of their tasks.

Changes are a document: ``{"jobs": {"worker": {"num": 4}}, "env": {...}, "image": ..., ...}``. With
``"whole": True`` it names all jobs there are to be. ``{"back": True}`` undoes the last update. With
``"rolling": True`` one task is changed after the other.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from math import inf
from typing import Any, TypedDict

from ..errors import SpecError
from ..record import NOTHING
from ..text import join_names, shortened, suggestion
from .constraints import parse_all, parse_for_job
from .job import Job
from .jobs import FIELDS, parse_jobs
from .launch_config import LaunchConfig
from .setting import UNLIMITED

Changes = Mapping[str, Any]
Changed = Mapping[str, int | Mapping[str, Any]] | None  # a number, or fields of a job, by its name


class Around(TypedDict, total=False):
    """Settings that can be changed for all jobs."""

    cmd: str | Sequence[str]
    env: Mapping[str, str]
    image: str
    constraints: Sequence[str]
    back: bool  # undo the last update instead
    rolling: bool  # one task after the other


KEYS = ("jobs", "cmd", "env", "image", "constraints", "whole", "back", "rolling")
NO_CONSTRAINTS = "none"  # instead of a constraint: removes the existing ones
_JOB_FIELDS = tuple(field for field in FIELDS if field != "name")
_OF_ADDRESS = ("start", "task_type", "port")
# The others have words of their own.
_WORDED = {"num", "at_least", "cmd", "env", "pod_template", "image", "constraints", "reserve_port"}
_WORDED |= {"restarts", "restart_policy", "retry_codes"}
_SHOWN = tuple(field for field in _JOB_FIELDS if field not in _WORDED)


def changed_jobs(config: LaunchConfig, changes: Changes) -> tuple[Job, ...]:
    """The jobs of *config* with *changes*, checked like those of a new run. SpecError if wrong."""
    for key in changes:
        if key not in KEYS:
            raise SpecError(None, key, f"cannot be changed by an update{suggestion(key, KEYS)}")
    asked = changes.get("jobs") or {}
    if not isinstance(asked, Mapping):
        raise SpecError(None, "jobs", f"must map names of jobs to numbers or fields, got {asked!r}")
    there = {job.name: job for job in config.jobs}
    names = asked if changes.get("whole") else dict.fromkeys([*there, *asked])
    jobs = [_changed_job(there.get(name), name, asked.get(name), config.jobs) for name in names]
    return tuple(_constrained(parse_jobs([_around(job, changes) for job in jobs]), changes))


def _changed_job(job: Job | None, name: str, asked: Any, others: Sequence[Job]) -> Job:
    fields = dict(asked) if isinstance(asked, Mapping) else {} if asked is None else {"num": asked}
    for field in fields:
        if field not in _JOB_FIELDS:
            problem = f"is not a field of a job{suggestion(str(field), _JOB_FIELDS)}"
            raise SpecError(name, str(field), problem)
    if job is not None:
        env = {**dict(job.env), **dict(fields.get("env") or {})}
        if "num" in fields:
            fields = {"at_least": None, **fields}
        return job.replace(**{**fields, "env": env})
    # A job "worker2" beside "worker" is not a mistake.
    near = suggestion(name, [one.name for one in others if not name.startswith(one.name)])
    if near and not fields.keys() & {"cmd", "task_type"}:
        problem = f"is for a job that is not in this run{near} (if not, give its task_type, too)"
        raise SpecError(name, next(iter(fields), "num"), problem)
    if "num" not in fields:
        there = join_names([one.name for one in others])
        problem = f"is for a job that is not in this run (its jobs: {there}): add tasks to it, too"
        raise SpecError(name, next(iter(fields), "num"), problem)
    commands = [one.cmd for one in others if one.cmd is not None and not one.is_auxiliary]
    return Job(name, **{"cmd": next(iter(commands), None), **fields})


def _around(job: Job, changes: Changes) -> Job:
    """The job with the changes that apply to all jobs."""
    if job.is_auxiliary:
        return job
    env = {**dict(job.env), **dict(changes.get("env") or {})}
    image, cmd = changes.get("image"), changes.get("cmd")
    return job.replace(
        env=env,
        image=job.image if image is None else image,
        cmd=job.cmd if cmd is None or job.cmd is None else cmd,
    )


def _constrained(jobs: Sequence[Job], changes: Changes) -> Iterator[Job]:
    """New constraints of a job take the place of those that it has."""
    given = [_of_job(text, jobs) for text in parse_all(changes.get("constraints") or ())]
    for job in jobs:
        own = [one for name, one in given if name in (None, job.name)]
        kept = [one for one in own if one != NO_CONSTRAINTS]
        yield job.replace(constraints=kept) if own and not job.is_auxiliary else job


def _of_job(text: Any, jobs: Sequence[Job]) -> tuple[str | None, Any]:
    name, one = _parsed(text)
    there = [job.name for job in jobs]
    if name is not None and name not in there:
        problem = f"names a job that is not in this run: {name!r} in {text!r}"
        raise SpecError(None, "constraints", f"{problem} (its jobs: {', '.join(there)})")
    return name, one


def _parsed(text: Any) -> tuple[str | None, Any]:
    if isinstance(text, str) and text.rpartition("=")[2] == NO_CONSTRAINTS:
        return text.rpartition("=")[0] or None, NO_CONSTRAINTS
    return parse_for_job(text)


def difference(
    old: LaunchConfig, new: LaunchConfig, present: Mapping[str, int] = NOTHING
) -> tuple[str, ...]:
    """What is another in *new*, in words; of variables only the names.

    *present* says how many tasks a job has just now, if these may be fewer than it asked for.
    """
    before = {job.name: job for job in old.jobs}
    after = {job.name: job for job in new.jobs}
    found: list[str] = []
    for name in dict.fromkeys([*before, *after]):
        was = before.get(name)
        is_fewer = was is not None and present.get(name, was.size) < was.size
        text = str(present[name]) if is_fewer else _size_text(was)
        if text != (other := _size_text(after.get(name))):
            found.append(f"{name}: {text} -> {other}")
        found += _difference(name, was, after.get(name), old, new)
    return tuple(found)


def _difference(
    name: str, old: Job | None, new: Job | None, before: LaunchConfig, after: LaunchConfig
) -> Iterator[str]:
    if old is None or new is None or not new.size:
        return
    values = _values(old, before), _values(new, after)
    for field, one in values[0].items():
        if one != (other := values[1][field]):
            yield f"{name}.{field}: {_text(one)} -> {_text(other)}"
    if old.cmd != new.cmd:
        yield f"{name}.command: {_text(_command(old))} -> {_changed_command(old, new)}"
    if old.pod_template != new.pod_template:  # which is long, and may have passwords
        how = _change(old.pod_template or None, new.pod_template or None)
        yield f"{name}.pod_template: {how}"
    env = before.env_of(old), after.env_of(new)
    changed = sorted(key for key in {**env[0], **env[1]} if env[0].get(key) != env[1].get(key))
    if changed:
        words = (f"{key} {_change(env[0].get(key), env[1].get(key))}" for key in changed)
        yield f"{name}.env: {', '.join(words)}"


def _values(job: Job, config: LaunchConfig) -> dict[str, Any]:
    """What can be shown of a job, its share of the settings of the run included."""
    policy = config.restarts.changed(job.restarts, job.restart_policy, job.retry_codes)
    return {
        **{field: getattr(job, field) for field in _SHOWN},
        "image": config.image_of(job),
        "constraints": tuple(map(str, job.constraints)),
        "restarts": policy.limit,
        "restart_policy": policy.after_start,
        "retry_codes": policy.codes,
        "reserve_port": config.reserves_port(job),
    }


def _change(old: object, new: object) -> str:
    """What is done to a value that is not shown."""
    return "set" if old is None else "removed" if new is None else "changed"


def readdressed(old: LaunchConfig, new: LaunchConfig) -> str:
    """Why tasks would get other addresses in *new*; empty if they would not."""
    before = {job.name: job for job in old.jobs}
    after = {job.name: job for job in new.jobs}
    for name in dict.fromkeys([*before, *after]):
        was, becomes = before.get(name), after.get(name)
        sizes = _size_text(was), _size_text(becomes)
        if sizes[0] != sizes[1]:
            return f"{name}: {sizes[0]} -> {sizes[1]} changes the cluster"
        for field in _OF_ADDRESS if was and becomes else ():
            one, other = getattr(was, field), getattr(becomes, field)
            if one != other:
                return f"{name}.{field}: {_text(one)} -> {_text(other)} changes the cluster"
    return ""


def _size_text(job: Job | None) -> str:
    return "0" if job is None else job.size_text


def _command(job: Job) -> str | None:
    """As it can be typed."""
    if job.cmd is None or isinstance(job.cmd, str):
        return job.cmd
    return shlex.join(job.cmd)


def _changed_command(old: Job, new: Job) -> str:
    """The same words may be for a shell now, or no longer."""
    text = _text(_command(new))
    if text != _command(old):
        return text
    return f"{text}, {'in' if isinstance(new.cmd, str) else 'without'} a shell"


def _text(value: Any) -> str:
    match value:
        case None | () | "":
            return "none"
        case float():
            return UNLIMITED if value == inf else f"{value:.15g}"
        case frozenset():
            return shortened(", ".join(map(str, sorted(value))), 80)
        case tuple():
            return " ".join(map(str, value))
    return str(value)
