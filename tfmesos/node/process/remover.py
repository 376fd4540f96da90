"""A process that removes a half-made copy if we are killed."""

from __future__ import annotations

import os

from ...shared import held_directory, process
from ...shared.stdlib import signal
from .spawn import close_all_but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

# By these a local launcher finds, and kills at once, all that a killed runner has left.
_MARKS = ("MESOS_SANDBOX", process.MARK)


class Remover:
    """Watches over *path* until ``close``; OSError if it cannot. Not for processes with threads."""

    def __init__(self, path: str) -> None:
        watched, self._pipe = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(watched)
            os.close(self._pipe)
            raise
        if self._pid == 0:
            _watch(watched, path)
        os.close(watched)

    def close(self) -> None:
        """Stop watching; what is there may stay."""
        process.send(self._pid, signal.SIGKILL)
        try:
            os.waitpid(self._pid, 0)
        except ChildProcessError:
            pass  # a runner waits for its orphans, and does not know that it is none
        os.close(self._pipe)


def _watch(pipe: int, path: str) -> NoReturn:
    """In the fork: the death of our parent closes the pipe."""
    try:
        os.setsid()  # it gets no signal of the terminal
        for name in _MARKS:
            process.erase_from_environment(f"{name}={os.environ.get(name, '')}")
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        close_all_but(pipe)  # others wait for the end of our parent's files
        os.read(pipe, 1)
        held_directory.remove(path)
    finally:
        os._exit(0)
