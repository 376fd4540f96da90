"""The warm parent itself: a process that has imported what a runner needs, and forks runners.

It runs as ``python -I -S``, and imports all that a runner of a command does, however late, and no
more. Its standard input is the socket of ``fork_channel``, and it ends when that does. A runner
depends on it only to be reaped.
"""

from __future__ import annotations

import gc
import os
import sys

from ...errors import RUNNER_BROKEN
from ...node.main import main as live
from ...node.process import progress_bar_sender  # noqa: F401
from ...shared import process
from ...shared.stdlib import signal, socket
from .fork_channel import MAX_MESSAGE, PLACEHOLDER, packed, unpacked

try:
    import _ctypes  # noqa: F401
except ImportError:
    pass  # prctl does without it, too

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

CHANNEL = 0  # our standard input
SANDBOX = "MESOS_SANDBOX"


def main() -> None:
    channel = socket.socket(fileno=CHANNEL)
    gc.collect()
    gc.freeze()  # so that looking for garbage copies no page that all of them share
    while message := channel.recv(MAX_MESSAGE):
        what, *about = unpacked(message)
        if what == "fork":
            _fork(channel, *about)
        else:
            (pid,) = about
            channel.send(packed("reaped", pid, os.waitpid(pid, 0)[1]))


def _fork(channel: Any, task: str, environment: dict[str, str]) -> None:
    try:
        pid = os.fork()
    except OSError as error:
        channel.send(packed("failed", task, error.errno))
        return
    if pid == 0:
        try:
            # Sent by the fork, so that whoever reads to the end of the socket knows all forks.
            channel.send(packed("forked", task, os.getpid()))
            _become_runner(environment)
        finally:
            os._exit(RUNNER_BROKEN)


def _become_runner(environment: dict[str, str]) -> NoReturn:
    os.setsid()
    sandbox = environment[SANDBOX]
    os.chdir(sandbox)
    _open(os.devnull, os.O_RDONLY, 0)
    for name, number in (("stdout", 1), ("stderr", 2)):
        _open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, number)
    # It identifies what we start and fork, in /proc/PID/environ, too.
    process.overwrite_in_environment(PLACEHOLDER, sandbox)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(128 + signal.SIGTERM))
    code = live(environment["TFMESOS_RUNNER"].split())
    sys.stderr.flush()
    os._exit(code)


def _open(path: str, flags: int, number: int) -> None:
    opened = os.open(path, flags, 0o644)
    os.dup2(opened, number)
    if opened > 2:
        os.close(opened)
