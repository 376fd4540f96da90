"""A group of Marathon with one app for each task, read into one run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import tensorboard_job
from ..common_settings import EVERY_FAILURE, take_fields, take_variables, volumes_of
from ..parts import Part
from ..translation import NOTHING_BESIDE, Beside, Document, JobFileError, Key, Translation
from .app import App, read_app
from .command import Cluster, address, flags_in, rendered, with_placeholders
from .export import from_ours

__all__ = ["from_ours", "is_mine", "to_ours"]

Tasks = Mapping[str, Sequence[App]]  # by job, in the order of their indices

_OF_APP = ("cmd", "args", "container", "instances")
_OF_POD = ("containers",)
_NUMBERED = re.compile(r"(.+)-(\d{1,6})")


def is_mine(tree: dict[str, Any]) -> bool:
    return "id" in tree and bool({"apps", "groups", *_OF_APP, *_OF_POD} & tree.keys())


def to_ours(tree: dict[str, Any], beside: Beside = NOTHING_BESIDE) -> Translation:
    remarks: list[str] = []
    _refuse_others(tree)
    part = Part(tree, (), remarks)
    name = (part.text("id") or "").strip("/")
    apps = [read_app(one) for one in part.parts("apps")]
    part.refuse(groups="is not supported: one group is one run; move its apps into this group")
    part.warn(dependencies="has no effect here: the tasks of a run start together")
    part.drop("version")
    part.close()
    if not apps:
        raise JobFileError(("apps",), "names no app")
    tasks = _by_job(apps)
    jobs = {job: _fields(job, found, _cluster(tasks, name)) for job, found in tasks.items()}
    _check_hosts(tasks)
    shared = take_fields(jobs, ("image",))
    document = {
        **shared,
        **take_variables(jobs),
        **volumes_of([(app.key, app.mounts) for app in apps], remarks),
        **_settings(apps),
        **({"name": "-".join(reversed(name.split("/")))} if name else {}),
        **EVERY_FAILURE,  # Marathon keeps apps alive
        "jobs": jobs,
    }
    return Translation(document, tuple(dict.fromkeys(remarks)), _origins(tasks, shared))


def _refuse_others(tree: dict[str, Any]) -> None:
    """Refuse what Marathon runs besides groups."""
    for kind, marks in (("Marathon pod", _OF_POD), ("single Marathon app", _OF_APP)):
        if not {"apps", "groups"} & tree.keys() and any(mark in tree for mark in marks):
            way_out = 'make it a group with one app for each task: {"id": NAME, "apps": [...]}'
            raise JobFileError((), f"is a {kind}, but a run is a group: {way_out}")


def _by_job(apps: Sequence[App]) -> dict[str, list[App]]:
    """The flags say which task an app is, or else its name, such as worker-0."""
    found: dict[str, dict[int, App]] = {}
    for app in apps:
        flags, numbered = flags_in(app.words), _NUMBERED.fullmatch(app.id)
        job, index = (numbered[1], numbered[2]) if numbered else (app.id, "0")
        job, index = flags.get("job_name", job), flags.get("task_index", index)
        if not index.isdecimal() or len(index) > 6:
            raise JobFileError(app.key, f"has a --task_index that is not a number: {index!r}")
        tasks = found.setdefault(job.replace("-", "_"), {})
        if int(index) in tasks:
            raise JobFileError(app.key, f"is a second task {job}:{index}")
        tasks[int(index)] = app
    return {job: _in_order(job, tasks) for job, tasks in found.items()}


def _in_order(job: str, tasks: Mapping[int, App]) -> list[App]:
    for number, index in enumerate(sorted(tasks)):
        if number != index:
            raise JobFileError(
                tasks[index].key, f"is {job}:{index}, but there is no {job}:{number}"
            )
        if tasks[index].instances != 1 and (len(tasks) > 1 or flags_in(tasks[index].words)):
            key = (*tasks[index].key, "instances")
            raise JobFileError(key, "must be 1: each task is its own app")
    return [tasks[index] for index in sorted(tasks)]


def _cluster(tasks: Tasks, group: str) -> Cluster:
    """The addresses that our own exporter has written into the apps."""
    return {
        job: [address(app.id, group, app.port or 0) for app in apps] for job, apps in tasks.items()
    }


def _fields(job: str, apps: Sequence[App], cluster: Cluster) -> Document:
    commands = [_command(job, index, app, cluster) for index, app in enumerate(apps)]
    for app, command in zip(apps, commands, strict=True):
        theirs, ours = {**app.fields, **command}, {**apps[0].fields, **commands[0]}
        for field in sorted(theirs.keys() | ours.keys()):
            if theirs.get(field) != ours.get(field):
                problem = f"differs from {apps[0].id} in {field}: the tasks of a job are alike"
                raise JobFileError(app.key, problem)
    num = apps[0].instances if len(apps) == 1 else len(apps)
    return {"num": num, **apps[0].fields, **commands[0]}


def _command(job: str, index: int, app: App, cluster: Cluster) -> Document:
    """From our label, unless the app was changed since it was written."""
    now = {"args" if app.is_entry else "cmd": app.words}
    if app.template is not None and rendered(app.template, cluster, job, index) == now:
        return app.template
    if isinstance(app.words, str) and (board := tensorboard_job.read(app.words)):
        return board
    return {field: with_placeholders(words) for field, words in now.items()}


def _check_hosts(tasks: Tasks) -> None:
    """Each task must know all others, and nothing else."""
    for app in (app for apps in tasks.values() for app in apps if app.template is None):
        for flag, value in flags_in(app.words).items():
            job = flag.removesuffix("_hosts")
            listed, there = len(list(filter(None, value.split(",")))), len(tasks.get(job, ()))
            if flag != job and listed != there:
                problem = f"names {listed} addresses in --{flag}, but the group has {there} {job}"
                raise JobFileError(app.key, problem)


def _settings(apps: Sequence[App]) -> Document:
    """What an app says about the whole run; all must have the same user, all images one type."""
    images = [app for app in apps if app.settings["containerizer_type"]]
    for field, concerned in (("user", apps), ("containerizer_type", images)):
        for app in concerned:
            if app.settings[field] != concerned[0].settings[field]:
                problem = f"has a different {field} from {concerned[0].id}: {app.settings[field]!r}"
                raise JobFileError(app.key, problem)
    settings: Document = {"user": apps[0].settings["user"]}
    if any(app.settings["containerizer_type"] == "DOCKER" for app in images):
        settings["containerizer_type"] = "DOCKER"  # the other one is the default
    settings["force_pull_image"] = any(app.settings["force_pull_image"] for app in apps)
    return {field: value for field, value in settings.items() if value}


def _origins(tasks: Tasks, shared: Document) -> dict[Key, Key]:
    origins: dict[Key, Key] = {("name",): ("id",)}
    for job, (app, *_) in reversed(list(tasks.items())):
        origins["jobs", job] = app.key
        for field in ("cpus", "mem", "disk", "gpus", "env", "constraints", "cmd"):
            origins[("jobs", job, field)] = (*app.key, field)
        origins["jobs", job, "args"] = (*app.key, "cmd")  # which they follow, if there is one
        image: Key = ("image",) if "image" in shared else ("jobs", job, "image")
        origins[image] = (*app.key, "container")
    return origins
