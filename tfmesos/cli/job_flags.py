"""The flags of ``tfrun`` that define tasks, and the jobs that they define."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence

from ..config.job import DEFAULT_CPUS, DEFAULT_MEM
from ..config.setting import RESOURCES, TASKS, Setting, Size
from ..errors import SpecError
from ..jobfiles.translation import Document
from ..text import suggestion

# Job, its name in flags, its letter in short ones, what help calls a task of it.
_ROLES = (
    ("worker", "worker", "w", "each worker"),
    ("ps", "server", "s", "each ps"),
    ("chief", "chief", "", "the chief"),
    ("evaluator", "evaluator", "", "the evaluator"),
)
# Field of a job, its letter in short flags, the unit, what help calls it, its default.
_AMOUNTS: tuple[tuple[str, str, str, str, float], ...] = (
    ("cpus", "C", "N", "CPUs of {}", DEFAULT_CPUS),
    ("gpus", "G", "N", "GPUs of {}", 0),
    ("mem", "M", "SIZE", "memory of {} (MiB, or with a unit, as in 2G)", DEFAULT_MEM),
    ("disk", "", "SIZE", "disk space of {} (MiB, or with a unit, as in 2G)", 0),
)


def _numbers() -> Iterator[Setting]:
    rows: tuple[tuple[str, str, tuple[str, ...], type], ...] = (
        (
            "worker",
            "number of workers; 2:8 asks for eight, and accepts as few as two if there is no "
            "room for more",
            ("-w", "--nworker"),
            int,
        ),
        ("ps", "number of parameter servers (ps)", ("-s", "--nserver"), int),
        ("chief", "add a chief; the run ends when the chief ends", ("--chief",), bool),
        ("evaluator", "add an evaluator", ("--evaluator",), bool),
    )
    for job, text, flags, kind in rows:
        metavar, default = ("N", 0) if kind is int else (None, None)
        metavar = "N|MIN:MAX" if job == "worker" else metavar
        yield Setting(text, flags, TASKS, metavar, default=default, field="num", kind=kind, job=job)


def _amounts() -> Iterator[Setting]:
    for job, name, short, what in _ROLES:
        for field, letter, unit, words, default in _AMOUNTS:
            flags = (f"-{letter}{short}",) if letter and short else ()
            yield Setting(
                words.format(what),
                (*flags, f"--{name}-{field}"),
                RESOURCES,
                unit,
                default=default if short else None,
                default_words=f"{default:g}" if short else "same as a worker",
                field=field,
                kind=Size if unit == "SIZE" else float,
                job=job,
            )


JOB_FLAGS = (
    *_numbers(),
    Setting(
        "add a job of any name with N tasks",
        ("--job",),
        TASKS,
        "NAME=N[:cpus=N,mem=SIZE,...]",
        is_repeatable=True,
        field="job",
    ),
    Setting(
        "jobs that run a bare TensorFlow server instead of the command, such as ps,worker",
        ("--serve",),
        TASKS,
        "JOBS",
        field="serve",
    ),
    *_amounts(),
)


def number_of_tasks(text: str) -> int | str:
    """A number, or a range, which the job reads."""
    if text.count(":") == 1:
        return text
    try:
        return int(text)
    except ValueError:
        problem = f"must be a number, or MIN:MAX as in 2:8, got {text!r}"
        raise argparse.ArgumentTypeError(problem) from None


def role_names() -> tuple[str, ...]:
    """The jobs that have flags of their own."""
    return tuple(name for name, *_ in _ROLES)


def destination(flag: Setting) -> str:
    """Where the parser leaves the value of a flag."""
    return f"{flag.job}_{flag.field}" if flag.job else flag.field


def job_changes(args: argparse.Namespace, jobs: Mapping[str, Document]) -> dict[str, Document]:
    """What the flags say of the *jobs* of a document, and of more jobs."""
    asked = {name: _fields_of(args, name) for name, *_ in sorted(_ROLES, key=_is_no_server)}
    like_worker = {**_amounts_in(jobs.get("worker", {})), **_amounts_in(asked["worker"])}
    changes = {}
    for name, fields in asked.items():
        if name in jobs:
            changes[name] = fields
        elif fields.get("num"):
            changes[name] = fields if name == "ps" else {**fields, **like_worker, **fields}
    for name, fields in _jobs_by_name(args.job or (), asked).items():
        changes[name] = {**asked.get(name, {}), **changes.get(name, {}), **fields}
    return _with_servers(getattr(args, "serve", None) or "", jobs, changes)


def _jobs_by_name(texts: Sequence[str], asked: Mapping[str, Document]) -> dict[str, Document]:
    """The jobs of --job; refused if another flag already *asked* for the same job."""
    found: dict[str, Document] = {}
    for text in texts:
        name, fields = _parse_job(text)
        if name in found:
            raise SpecError(None, "job", f"names {name!r} twice: {text!r}")
        for flag in JOB_FLAGS:
            if flag.job == name and flag.field in fields and flag.field in asked[name]:
                problem = f"{text!r} and {flag.name} are mutually exclusive: give only one"
                raise SpecError(None, "job", problem)
        found[name] = fields
    return found


def _parse_job(text: str) -> tuple[str, Document]:
    """Name and fields of ``NAME=COUNT[:cpus=N,mem=SIZE,...]``."""
    head, _, amounts = text.partition(":")
    name, equals, num = head.partition("=")
    if not equals or not name or not (num.isascii() and num.isdigit() and len(num) < 10):
        raise SpecError(None, "job", f"must be NAME=COUNT[:cpus=..,mem=..], got {text!r}")
    fields: Document = {"num": int(num)}
    for field, value in (_parse_amount(part, text) for part in _parts(amounts)):
        if field in fields:
            raise SpecError(None, "job", f"has {field} twice in {text!r}")
        fields[field] = value
    return name, fields


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _parse_amount(part: str, text: str) -> tuple[str, float | str]:
    known = [field for field, *_ in _AMOUNTS]
    field, _, value = part.partition("=")
    if field in known and not value:
        raise SpecError(None, "job", f"{field} needs a value in {text!r}: {field}=VALUE")
    if field not in known:
        problem = f"accepts {', '.join(known)}, not {part!r} in {text!r}"
        raise SpecError(None, "job", f"{problem}{suggestion(field, known)}")
    if field in ("mem", "disk"):
        return field, value
    try:
        return field, float(value)
    except ValueError:
        raise SpecError(
            None, "job", f"{field} must be a number, got {value!r} in {text!r}"
        ) from None


def _is_no_server(role: tuple[str, ...]) -> bool:
    return role[0] != "ps"


def _amounts_in(fields: Document) -> Document:
    return {field: fields[field] for field, *_ in _AMOUNTS if field in fields}


def _fields_of(args: argparse.Namespace, job: str) -> Document:
    """What the flags say of a job."""
    flags = (flag for flag in JOB_FLAGS if flag.job == job)
    given = ((flag.field, getattr(args, destination(flag))) for flag in flags)
    return {field: int(v) if v is True else v for field, v in given if v is not None}


def _with_servers(
    text: str, jobs: Mapping[str, Document], changes: dict[str, Document]
) -> dict[str, Document]:
    """The jobs, where those of --serve run the standard server instead of the command."""
    served = set(_parts(text))
    there = list(dict.fromkeys([*jobs, *changes]))
    for name in sorted(served):
        if name not in there:
            problem = (
                f"names a job that is not in this run: {name!r} (its jobs: {', '.join(there)})"
            )
            raise SpecError(None, "serve", problem)
    if served and served.issuperset(there):
        raise SpecError(None, "serve", f"leaves no task to run the command, got {text!r}")
    servers = {name: {**changes.get(name, {}), "serve": True, "cmd": None} for name in served}
    return {**changes, **servers}
