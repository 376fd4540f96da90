"""The entry point of an image, as Docker on this machine knows it."""

from __future__ import annotations

import json
import subprocess
from typing import Any

from ..errors import SpecError
from ..jobfiles.image_commands import NAME_IT, ImageCommand, filled_in, images_wanted
from ..jobfiles.translation import Document
from ..text import shortened

_ANSWER_WITHIN = 30.0  # seconds for an engine on this machine


def with_image_commands(document: Document) -> Document:
    """The document with the commands that only images know."""
    wanted = images_wanted(document)
    known: dict[str, ImageCommand] = {}
    for job, image in wanted.items():
        if image not in known:
            known[image] = _inspect(job, image)
    return filled_in(document, {job: known[image] for job, image in wanted.items()})


def _inspect(job: str, image: str) -> ImageCommand:
    try:
        config = _config_of(image)
    except (OSError, ValueError, LookupError, subprocess.SubprocessError) as error:
        why = f"Docker on this machine cannot read the entry point of {image}: {_reason(error)}"
        raise SpecError(job, "args", f"is missing, and {why}: {NAME_IT}") from None
    entry_point, arguments = (tuple(config.get(key) or ()) for key in ("Entrypoint", "Cmd"))
    return ImageCommand(entry_point, arguments, str(config.get("WorkingDir") or ""))


def _config_of(image: str) -> dict[str, Any]:
    command = ["docker", "image", "inspect", "--", image]
    done = subprocess.run(
        command, check=True, capture_output=True, timeout=_ANSWER_WITHIN, stdin=subprocess.DEVNULL
    )
    config = json.loads(done.stdout)[0]["Config"]
    if not isinstance(config, dict):
        raise ValueError("it says nothing about it")
    return config


def _reason(error: Exception) -> str:
    match error:
        case subprocess.CalledProcessError():
            lines = error.stderr.decode(errors="replace").strip().splitlines() or ["it failed"]
            return shortened(lines[-1], 120)
        case subprocess.TimeoutExpired():
            return f"no answer within {_ANSWER_WITHIN:g} s"
        case OSError():
            return error.strerror or str(error)
    return "its answer is not understood"
