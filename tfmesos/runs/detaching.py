"""A launcher that continues in the background when its terminal is closed."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

READY, DISCARDED = "ready", "discarded"  # what follows the id of the run


class Handover:
    """From here on two processes: one has the terminal and waits, the other has the run.

    Until it is ready, the latter may write to standard error, and gets each Ctrl-C.
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

    def named(self, run_id: str) -> None:
        """The run has a record, by which it can be found."""
        self._tell(f"{run_id}\n")

    def discarded(self) -> None:
        """It has no record after all: nothing was started."""
        self._tell(f"{DISCARDED}\n")

    def ready(self) -> None:
        """The tasks run: the terminal is no longer needed."""
        if self._link >= 0:
            _to_nowhere(2)
            self._tell(f"{READY}\n")
            os.close(self._link)
            self._link = -1

    def _tell(self, text: str) -> None:
        with suppress(OSError):  # nobody waits any more
            os.write(self._link, text.encode())

    def wait(self) -> tuple[str, int]:
        """The id of the run, if it has one, and 0 when it is ready, or else its exit code."""
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        pass_on = lambda number, _: os.kill(self._child, number)  # noqa: E731
        before = {number: signal.signal(number, pass_on) for number in numbers}
        with open(self._link, "rb") as link:
            told = link.read().decode().split()
        run_id = "" if DISCARDED in told else "".join(told[:1])
        if READY in told:
            for number, handler in before.items():  # what comes now is not for the run
                signal.signal(number, handler)
            return run_id, 0
        _, status = os.waitpid(self._child, 0)
        code = os.waitstatus_to_exitcode(status)
        return run_id, code if code >= 0 else 128 - code


def _to_nowhere(*streams: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in streams:
        os.dup2(nowhere, stream)
    os.close(nowhere)
