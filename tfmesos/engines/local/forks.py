"""The warm parent itself: a process that has imported what a runner needs, and forks runners.

It runs as ``python -I -S`` and imports as little as they do. Its standard input is a socket of
messages in marshal, for both ends are the same Python: ``("fork", TASK, ENVIRONMENT)`` is answered
by the fork, ``("forked", TASK, PID)``, or by us, ``("failed", TASK, ERRNO)``; ``("reap", PID)`` is
answered by ``("reaped", PID, STATUS)``. It ends when the socket does. Nothing of a runner depends
on it but this status.
"""

from __future__ import annotations

import gc
import marshal
import os
import sys

from ...node.main import main as live
from ...shared import process
from ...shared.stdlib import signal, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

CHANNEL = 0  # our standard input
MAX_MESSAGE = 128 * 1024  # bytes
SANDBOX = "MESOS_SANDBOX"
PLACEHOLDER = "-" * 1024  # in the environment of the parent, where a runner has its sandbox


def main() -> None:
    channel = socket.socket(fileno=CHANNEL)
    gc.collect()
    gc.freeze()  # so that looking for garbage copies no page that all of them share
    while message := channel.recv(MAX_MESSAGE):
        what, *about = marshal.loads(message)
        if what == "fork":
            _fork(channel, *about)
        else:
            (pid,) = about
            channel.send(marshal.dumps(("reaped", pid, os.waitpid(pid, 0)[1])))


def _fork(channel: Any, task: str, environment: dict[str, str]) -> None:
    try:
        pid = os.fork()
    except OSError as error:
        channel.send(marshal.dumps(("failed", task, error.errno)))
        return
    if pid == 0:
        try:
            # By the fork, so that whoever reads to the end of the socket knows all there are.
            channel.send(marshal.dumps(("forked", task, os.getpid())))
            _become_runner(environment)
        finally:
            os._exit(1)


def _become_runner(environment: dict[str, str]) -> NoReturn:
    os.setsid()
    sandbox = environment[SANDBOX]
    os.chdir(sandbox)
    _open(os.devnull, os.O_RDONLY, 0)
    for name, number in (("stdout", 1), ("stderr", 2)):
        _open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, number)
    # What we start and fork is known by it, in /proc/PID/environ, too.
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
