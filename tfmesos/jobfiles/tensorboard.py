"""TensorBoard as a job beside the training."""

from __future__ import annotations

import re
import shlex

from .common import EVERY_FAILURE
from .translation import Document

JOB = "tensorboard"
PORT = 6006  # where people look for it


def command(log_dir: str) -> str:
    """Where the launcher says it is to be found, and not at a port that another one may have.

    It leaves a file in the directory for temporary ones, so that is the sandbox.
    """
    board = 'TMPDIR="$MESOS_SANDBOX" tensorboard --host "${at%:*}" --port "${at##*:}"'
    return f"at={{tensorboard_hosts}}; exec env {board} --logdir {shlex.quote(log_dir)}"


def log_dir_of(text: str) -> str | None:
    """Of a command that says nothing but that."""
    found = re.fullmatch(r"tensorboard --logdir[= ](\S+)", text.strip())
    return found and found[1]


def job(log_dir: str) -> Document:
    """It is no part of the training: it is started again whenever it fails."""
    return {"num": 1, "cmd": command(log_dir), **EVERY_FAILURE}
