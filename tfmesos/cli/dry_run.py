"""Shows a run for ``tfrun --dry-run``: in words, as a job file, or as requests to an engine."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator

from ..config.engine_kinds import PREVIEWS, engine_at
from ..config.launch_config import LaunchConfig
from ..config.secret import without_password
from ..config.settings import DEFAULTS, DOCUMENT_KEYS, SETTINGS
from ..engines.plugins import preview_of
from ..errors import SpecError
from ..jobfiles import WRITTEN
from ..jobfiles.translation import Document, JobFileError
from ..json_types import Json
from .description import description


def shown(form: str, config: LaunchConfig, document: Document) -> str:
    """The run in the requested form; *document* is what the user specified."""
    if form in PREVIEWS:
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


def _preview(form: str, config: LaunchConfig) -> Json:
    """What the engine of the run would be sent."""
    if config.engine.preview != form:
        problem = f"{form!r} is for runs on {form.title()}, but the master is"
        raise SpecError(None, "dry_run", f"{problem} {without_password(config.master)}")
    return preview_of(form)(config, socket.gethostname())


def _whole(document: Document) -> Document:
    """The document with values from the environment and without passwords; the usual keys first."""
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
    """The run in a foreign format; an error names the flag that the format cannot express."""
    from ..jobfiles import formats

    if format == "tfjob" and engine_at(str(document.get("master") or "")).runs_pods:
        document = {field: value for field, value in document.items() if field != "master"}
    try:
        return formats.written(document, format)
    except JobFileError as error:
        if len(error.key) == 1:
            raise SpecError(None, error.field, error.problem) from None
        raise
