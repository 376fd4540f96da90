"""The process of the warm parent, and its head start: it comes up while the launcher imports."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from .fork_channel import PLACEHOLDER
from .task_launch import PATH, SANDBOX

if TYPE_CHECKING:
    from ...config.job import Job
    from ...config.launch_config import LaunchConfig

_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tfmesos.engines.local.forks import main; "
    "main()"
)
_HOME = str(Path(__file__).parents[3])


class ParentProcess:
    """It ends when ``channel`` does, or at once by ``end``."""

    def __init__(self) -> None:
        """Raises OSError."""
        self.channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = _start(theirs)
            except OSError:
                self.channel.close()
                raise

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def _start(channel: socket.socket) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, _HOME],
        env={"PATH": PATH, SANDBOX: PLACEHOLDER},
        cwd="/",
        stdin=channel.fileno(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


_ahead: list[ParentProcess] = []  # started, and not taken by a run yet


@contextmanager
def started_ahead(config: LaunchConfig) -> Iterator[None]:
    """Provide one within the block for the run that is about to begin, if it needs one."""
    if any(uses_our_python(config, job) for job in config.jobs):
        with suppress(OSError):  # the run will meet the same problem
            _ahead.append(ParentProcess())
    try:
        yield
    finally:
        while _ahead:
            unused = _ahead.pop()
            unused.kill()
            unused.channel.close()


def parent_process() -> ParentProcess:
    """Raises OSError."""
    return _ahead.pop() if _ahead else ParentProcess()


def uses_our_python(config: LaunchConfig, job: Job) -> bool:
    return config.image_of(job) is None and config.python_of(job) == sys.executable
