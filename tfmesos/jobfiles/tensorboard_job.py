"""TensorBoard as a job beside the training, and as the command that people would write."""

from __future__ import annotations

import shlex

from ..config.job import TENSORBOARD
from ..config.tensorboard import command as command
from .common_settings import EVERY_FAILURE
from .translation import Document

JOB = TENSORBOARD
PORT = 6006  # where people look for it
_EVERYWHERE = "0.0.0.0"
_OURS = command("")[:-2]  # without the directory, an empty text in quotes


def job(log_dir: str) -> Document:
    """It is not part of the training: it is started again whenever it fails."""
    return {"num": 1, "cmd": command(log_dir), **EVERY_FAILURE}


def read(text: str) -> Document | None:
    """Command and port of a job, from a command that only names its event directory."""
    words = [part for word in _words(text) for part in _split(word)]
    options = dict(zip(words[1::2], words[2::2], strict=False))
    if words[:1] != ["tensorboard"] or len(words) != 1 + 2 * len(options) or "$" in text:
        return None
    log_dir, port = options.pop("--logdir", None), options.pop("--port", str(PORT))
    if log_dir is None or not port.isdecimal() or options not in ({}, {"--host": _EVERYWHERE}):
        return None
    return {"cmd": command(log_dir), "port": int(port)}


def _split(word: str) -> list[str]:
    """``--logdir=DIR`` means the same as ``--logdir DIR``."""
    return word.split("=", 1) if word.startswith("--") else [word]


def written(fields: Document) -> str | None:
    """The command that people would write, for a job that runs ours."""
    cmd, port = fields.get("cmd"), fields.get("port", PORT)
    if not isinstance(cmd, str) or not cmd.startswith(_OURS) or not isinstance(port, int):
        return None
    log_dir = cmd.removeprefix(_OURS)
    return f"tensorboard --logdir {log_dir} --host {_EVERYWHERE} --port {port}"


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:  # a quote without an end
        return []
