"""TensorBoard as a job beside the training."""

from __future__ import annotations

import re

from ..config.job import TENSORBOARD
from ..config.tensorboard import command as command
from .common import EVERY_FAILURE
from .translation import Document

JOB = TENSORBOARD
PORT = 6006  # where people look for it


def log_dir_of(text: str) -> str | None:
    """Of a command that says nothing but that."""
    found = re.fullmatch(r"tensorboard --logdir[= ](\S+)", text.strip())
    return found and found[1]


def job(log_dir: str) -> Document:
    """It is no part of the training: it is started again whenever it fails."""
    return {"num": 1, "cmd": command(log_dir), **EVERY_FAILURE}
