"""What a run would be, for ``tfrun --dry-run``: in words, as a job file, or as Mesos is told it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator

from ..config.job import Resources
from ..config.kubernetes_settings import SCHEME
from ..config.launch_config import LaunchConfig
from ..config.secret import without_password
from ..config.settings import DEFAULTS, DOCUMENT_KEYS, SETTINGS
from ..engines.kinds import KUBERNETES, LOCAL, MESOS, kind_of
from ..engines.mesos.offers import Seat
from ..engines.mesos.task_info import framework_info, task_info
from ..errors import SpecError
from ..jobfiles import WRITTEN
from ..jobfiles.translation import Document, JobFileError
from ..json_types import Json
from ..launcher.links.messages import runner_command, stub_settings
from .description import description

# Form -> the engines of the runs that it shows; one on this machine is shown as one on Mesos.
ENGINES = {MESOS: (MESOS, LOCAL), KUBERNETES: (KUBERNETES,)}


def shown(form: str, config: LaunchConfig, document: Document) -> str:
    """The run as its user wants to see it; *document* says what was asked for."""
    if form in ENGINES:
        return json.dumps(_preview(form, config), indent=2) + "\n"
    if form in WRITTEN:
        return _written(document, form)
    from ..jobfiles.writing import yaml_of

    lines = _words(config) if form == "words" else ()
    return "".join(f"# {line}\n" for line in lines) + yaml_of(_whole(document))


def _words(config: LaunchConfig) -> Iterator[str]:
    yield from description(config)
    if config.ship is not None:
        from .shipped_files import shipped_files  # which looks at every file

        yield from shipped_files(config.ship)


def _preview(engine: str, config: LaunchConfig) -> Json:
    """What the engine of the run would be sent."""
    if kind_of(config).name not in ENGINES[engine]:
        problem = f"{engine!r} is for runs on a {engine.capitalize()}, and the master is"
        raise SpecError(None, "dry_run", f"{problem} {without_password(config.master)}")
    if engine == MESOS:
        return preview(config, socket.gethostname())
    from .pods_preview import pods  # is needed by no other

    return pods(config, socket.gethostname())


def _whole(document: Document) -> Document:
    """With what the environment says, and without a password; the usual keys first."""
    asked = {name: value for name, value in document.items() if value not in (None, {}, [])}
    rows = (one for one in SETTINGS if one.field in DOCUMENT_KEYS)
    found = {one.field: one.choose(asked.get(one.field), os.environ) for one in rows}
    said = {field: value for field, value in found.items() if value != DEFAULTS[field]}
    document = {**asked, **said}
    if "master" in document:
        document["master"] = without_password(document["master"])
    first = [name for name in ("name", "master", "image", "cmd", "jobs") if name in document]
    return {name: document[name] for name in [*first, *document]}


def _written(document: Document, format: str) -> str:
    """The run in a foreign format; what that has no word for is named by its flag."""
    from ..jobfiles import formats

    if format == "tfjob" and str(document.get("master") or "").startswith(SCHEME):
        document = {field: value for field, value in document.items() if field != "master"}
    try:
        return formats.written(document, format)
    except JobFileError as error:
        if len(error.key) == 1:
            raise SpecError(None, error.field, error.problem) from None
        raise


def preview(config: LaunchConfig, hostname: str) -> Json:
    """Framework and tasks as they would be sent; ids of Mesos, ports and secrets are made up."""
    tasks = []
    for task in config.tasks:
        seat = Seat(task, tuple(_resources(task.job.needs, config.role)), None)
        task_id = f"RUN-{task.job.name}-{task.index}-1"
        settings = stub_settings("RUN", "LAUNCHER:PORT", task_id, None)
        command = runner_command(config, task.job, settings, "(256 random bits)")
        tasks.append(task_info(config, "RUN", task_id, "AGENT", seat, command))
    framework = framework_info(config, "RUN", hostname)
    master = without_password(config.master)
    return {"master": master, "framework_info": framework, "task_infos": tasks}


def _resources(needs: Resources, role: str) -> Iterator[Json]:
    for name, amount in needs.named():
        if amount:
            scalar = {"value": amount / 1000}
            allocated = {"role": role}
            yield {
                "name": name,
                "type": "SCALAR",
                "scalar": scalar,
                "role": "*",
                "allocation_info": allocated,
            }
