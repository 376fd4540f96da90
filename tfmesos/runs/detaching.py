"""A launcher that goes on in the background when its terminal is closed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress


class Handover:
    """Two processes from here on: one has the terminal and waits, the other has the run.

    Until it is ready that one may complain on standard error, and is told of a Ctrl-C.
    """

    def __init__(self) -> None:
        reading, writing = os.pipe()
        self._child = os.fork()
        self.has_the_run = self._child == 0
        os.close(reading if self.has_the_run else writing)
        self._link = writing if self.has_the_run else reading
        if self.has_the_run:
            os.setsid()
            _to_nowhere(0, 1)

    def ready(self, run_id: str) -> None:
        """The tasks run: the terminal is needed no longer."""
        if self._link >= 0:
            _to_nowhere(2)
            with suppress(OSError):  # nobody waits any more
                os.write(self._link, run_id.encode())
            os.close(self._link)
            self._link = -1

    def wait(self) -> str | int:
        """The id of the run when it is ready; the exit code of one that never was."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: os.kill(self._child, number))
        with open(self._link, "rb") as link:
            run_id = link.read().decode()
        if run_id:
            return run_id
        _, status = os.waitpid(self._child, 0)
        code = os.waitstatus_to_exitcode(status)
        return code if code >= 0 else 128 - code


def _to_nowhere(*streams: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)
