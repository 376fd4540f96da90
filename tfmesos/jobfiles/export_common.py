"""What writers of foreign formats share: settings pushed down to the jobs, and refusals by key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from ..config.job import DEFAULT_CPUS, DEFAULT_MEM
from ..config.restart_settings import RestartPolicy, parse_codes, parse_limit
from ..config.units import mebibytes
from ..config.volumes import Volume
from ..errors import SpecError
from .translation import Document, JobFileError, Key

T = TypeVar("T")

SERVER = (
    "import tensorflow as tf; "
    "me = tf.distribute.cluster_resolver.TFConfigClusterResolver(); "
    "tf.distribute.Server(me.cluster_spec(), job_name=me.task_type, task_index=me.task_id).join()"
)
SERVER_COMMAND = ["python3", "-c", SERVER]  # a bare TensorFlow server that reads TF_CONFIG
EVERY_CODE = parse_codes("1-255")


def refuse_others(document: Mapping[str, Any], known: Iterable[str], key: Key, where: str) -> None:
    """Refuse settings that *where* cannot express, so that nothing gets lost."""
    for name, value in document.items():
        if name not in known and value not in (None, False, [], {}):
            raise JobFileError((*key, name), f"cannot be expressed in {where}: leave it out")


def at(key: Key, make: Callable[..., T], *values: Any) -> T:
    """The result of *make*; its error is about *key*."""
    try:
        return make(*values)
    except SpecError as error:
        raise JobFileError(key, error.problem) from None
    except ValueError as error:
        raise JobFileError(key, str(error)) from None


def name_of(document: Document, pattern: str, words: str) -> str:
    name = document.get("name")
    if name is None:
        raise JobFileError(("name",), f"is missing: it must be {words}")
    if not isinstance(name, str) or not re.fullmatch(pattern, name):
        raise JobFileError(("name",), f"must be {words}, got {name!r}")
    return name


def jobs_of(document: Document) -> dict[str, Document]:
    """Each job with everything that the run says about it."""
    for name, job in document["jobs"].items():
        if ":" in str(job.get("num")) or job.get("at_least") is not None:
            raise JobFileError(
                ("jobs", name, "num"), "is a range, which this format cannot express"
            )
    return {name: _whole(document, job) for name, job in document["jobs"].items()}


def _whole(document: Document, job: Document) -> Document:
    of_run = ("image", "cwd", "restarts", "restart_policy", "retry_codes")
    whole = {name: document[name] for name in of_run if document.get(name) is not None}
    whole |= {"num": 1, "cpus": DEFAULT_CPUS, "mem": DEFAULT_MEM, "gpus": 0, "disk": 0}
    whole |= {name: value for name, value in job.items() if value is not None}
    for name in ("mem", "disk"):
        if isinstance(whole[name], str):
            whole[name] = mebibytes(whole[name])
    whole["env"] = {**(document.get("env") or {}), **(job.get("env") or {})}
    if not job.get("serve") and job.get("cmd") is None and document.get("cmd") is not None:
        whole["cmd"] = document["cmd"]
    return whole


def volumes_of(document: Document) -> list[Volume]:
    volumes = document.get("volumes") or []
    if isinstance(volumes, Mapping):
        volumes = [f"{host}:{container}" for host, container in volumes.items()]
    return [at(("volumes", n), Volume.parse, text) for n, text in enumerate(volumes)]


def policy_of(name: str, job: Document) -> RestartPolicy:
    """The restart policy of a job, with defaults for what it does not set."""

    def value(field: str, parse: Callable[[Any], Any]) -> Any:
        given = job.get(field)
        return None if given is None else at(("jobs", name, field), parse, given)

    limit, codes = value("restarts", parse_limit), value("retry_codes", parse_codes)
    return RestartPolicy().changed(limit, job.get("restart_policy"), codes)
