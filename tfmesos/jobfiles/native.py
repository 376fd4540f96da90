"""Our own format: a document -> jobs and settings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..config.entry_function import entry_command
from ..config.job import TENSORBOARD, Job
from ..config.jobs import FIELDS
from ..config.settings import DOCUMENT_KEYS
from ..errors import SpecError
from ..text import suggestion
from .image_commands import joined
from .translation import Document, JobFileError, Key

_ALIASES = {"command": "cmd", "count": "num"}
_OWN_KEYS = ("jobs", "cmd", *DOCUMENT_KEYS)
_JOB_KEYS = (*(field for field in FIELDS if field != "name"), "serve", "args")
MERGED = ("env", "secrets", "secret_env")  # by name
ADDED = ("volumes", "constraints")  # lists: one does not replace another

_NO_COMMAND = "is missing: give one to the job or to all, or serve: true for a bare server"


def checked(document: Mapping[str, Any]) -> Document:
    """The document with its keys checked, and each under its one name. Values are checked later."""
    found = _with_known_keys(document, _OWN_KEYS, (), "is not a setting of a job file")
    jobs = found.get("jobs", {})
    if not isinstance(jobs, Mapping):
        raise JobFileError(
            ("jobs",), f"must contain names of jobs, as in worker: ..., got {jobs!r}"
        )
    return {**found, "jobs": {name: _checked_job(name, job) for name, job in jobs.items()}}


def _checked_job(name: str, job: Any) -> Document:
    key = ("jobs", name)
    if not isinstance(job, Mapping | None):
        raise JobFileError(key, f"must contain fields of a job, as in num: 2, got {job!r}")
    found = _with_known_keys(job or {}, _JOB_KEYS, key, "is not a field of a job")
    serve = found.get("serve", False)
    if not isinstance(serve, bool):
        raise JobFileError((*key, "serve"), f"must be true or false, got {serve!r}")
    if serve and found.get("cmd") is not None:
        problem = "and cmd are mutually exclusive: the tasks run a TensorFlow server or a command"
        raise JobFileError((*key, "serve"), problem)
    args = found.get("args") or []
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        raise JobFileError((*key, "args"), f"must be a list of strings, got {args!r}")
    return found


def _with_known_keys(
    given: Mapping[str, Any], known: Iterable[str], around: Key, problem: str
) -> Document:
    found: Document = {}
    for name, value in given.items():
        own = _ALIASES.get(name, name)
        if own not in known:
            raise JobFileError((*around, name), f"{problem}{suggestion(str(name), known)}")
        if own in found:
            raise JobFileError((*around, name), f"and {own} mean the same: give only one")
        found[own] = value
    return found


def changed(document: Document, changes: Document) -> Document:
    """The document with *changes*, which win: jobs field by field, env and secrets by name."""
    result = {**document, **{k: v for k, v in changes.items() if v is not None}}
    jobs = {name: _without(job, changes) for name, job in document["jobs"].items()}
    other = changes.get("jobs", {})
    names = dict.fromkeys([*jobs, *other])
    result["jobs"] = {name: {**jobs.get(name, {}), **other.get(name, {})} for name in names}
    for field in MERGED:
        if isinstance(document.get(field), Mapping) and changes.get(field):
            result[field] = {**document[field], **changes[field]}
    for field in ADDED:
        if isinstance(document.get(field), list) and changes.get(field):
            result[field] = [*document[field], *_texts(changes[field])]
    return result


def _texts(added: Mapping[str, str] | Iterable[str]) -> Iterable[str]:
    """A call from Python may give its volumes as a dict."""
    return [f"{k}:{v}" for k, v in added.items()] if isinstance(added, Mapping) else added


def without_commands(document: Document) -> Document:
    """Make way for a command that replaces the document's own, or its function.

    Servers and TensorBoard stay as they are. SpecError if no job would run the command.
    """
    has_entry = bool(document.get("entry"))
    jobs = {name: _without_command(name, job, has_entry) for name, job in document["jobs"].items()}
    if jobs and all(job.get("cmd") is not None or job.get("serve") for job in jobs.values()):
        problem = "is not used by any job: those of the file are servers, or TensorBoard"
        raise SpecError(None, "cmd", problem)
    gone = ("cmd", "entry", "context", "log_dir")
    kept = {field: value for field, value in document.items() if field not in gone}
    return {**kept, "jobs": jobs}


def _without_command(name: str, job: Document, has_entry: bool) -> Document:
    if name == "ps" and has_entry and job.get("cmd") is None:
        return {**job, "serve": True}  # as it would beside the function
    if job.get("task_type", name) == TENSORBOARD:
        return job
    return {field: value for field, value in job.items() if field != "cmd"}


def _without(job: Document, changes: Document) -> Document:
    """A job without what is now set for the whole run."""
    of_run = {field for field, value in changes.items() if value is not None}
    kept = ("jobs", "cmd", *ADDED)
    result = {field: value for field, value in job.items() if field in kept or field not in of_run}
    for field in MERGED:
        if field in job and field in of_run:
            result[field] = {n: v for n, v in job[field].items() if n not in changes[field]}
    return result


def jobs_and_settings(document: Document) -> tuple[list[Job], dict[str, Any]]:
    """What ``make_config`` takes. SpecError if a job is wrong."""
    jobs = [_job(name, job, document) for name, job in document["jobs"].items()]
    settings = {field: value for field, value in document.items() if field in DOCUMENT_KEYS}
    return jobs, settings


def _job(name: str, fields: Document, document: Document) -> Job:
    given = {field: value for field, value in fields.items() if field not in ("serve", "args")}
    if given.get("cmd") is None:
        given["cmd"] = None if fields.get("serve") else _command_of(name, document)
    given["cmd"] = joined(given["cmd"], fields.get("args"))
    return Job(name, **{"num": 1, **given})


def _command_of(name: str, document: Document) -> Any:
    """What a job without a command of its own runs; None for a bare server."""
    cmd, entry = document.get("cmd"), document.get("entry")
    if entry and cmd is not None:
        raise SpecError(None, "entry", "and a command are mutually exclusive: give only one")
    if entry:
        return None if name == "ps" else entry_command(entry)
    if cmd is None:
        raise JobFileError(("jobs", name, "cmd"), _NO_COMMAND)
    return cmd


def key_of(document: Document, error: SpecError) -> Key | None:
    """The key in the document that *error* complains about, if it is there."""
    if isinstance(error, JobFileError):
        return error.key
    if error.is_about_name_of_job:
        return "jobs", str(error.job)
    of_job: Key = ("jobs", str(error.job), error.field)
    if error.job is not None and error.field in document["jobs"].get(error.job, {}):
        return of_job
    return (error.field,) if error.field in document else None
