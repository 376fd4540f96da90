"""One process of the task: its output and its end, after which nothing of its session is left."""

from __future__ import annotations

import os
import time

from ...shared import process
from ..loop import READ, Loop, Timer
from .spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .guard import Guard
    from .spawn import Spawned

DRAIN_TIMEOUT = 0.5  # seconds for the output of an ended command that others still hold open
READ_SIZE = 64 * 1024  # bytes
BULK_SIZE = 16 * 1024  # bytes; a command that writes so much at once is read without pauses
BULK_TIME = 1.0  # seconds for which that holds
READ_PAUSE = 0.01  # seconds between two reads from all others: they may write line by line


class Child:
    """A process whose output goes to *read*, piece by piece, until ``ended``.

    It has ended once it has exited and its output is complete, or others have held the output open
    for too long; then nothing of its session is left. *read* gets b"" at the end of a stream.
    """

    def __init__(
        self,
        loop: Loop,
        guard: Guard,
        argv: Sequence[str],
        env: Mapping[str, str],
        cwd: str,
        read: Callable[[str, bytes], None],
        stdin: int | None = None,
    ) -> None:
        self.ended = False
        self.on_end: Callable[[], object] = lambda: None
        self._loop = loop
        self._guard = guard
        self._read = read
        self._timers: list[Timer] = []
        self.is_paused = False
        self._pause: Timer | None = None  # the end of that, if it has one
        self._bulk_until = 0.0
        self._open: dict[str, int] = {}
        self._process = self._start(argv, env, cwd, stdin)
        self.pid = self._process.pid
        self._watch_all()
        loop.on_child(self._reap)
        self._reap()  # it may have ended before we listened

    def _start(
        self, argv: Sequence[str], env: Mapping[str, str], cwd: str, stdin: int | None
    ) -> Spawned:
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        nothing = os.open(os.devnull, os.O_RDONLY)
        streams = (nothing if stdin is None else stdin, out_end, err_end)
        self._open = {"stdout": out, "stderr": err}
        try:
            return spawn(argv, env, cwd, streams, self._guard)
        except (OSError, ValueError):
            os.close(out)
            os.close(err)
            raise
        finally:
            for fd in (nothing, out_end, err_end):
                os.close(fd)

    def _watch(self, name: str, fd: int) -> None:
        self._loop.watch(fd, READ, lambda: self._readable(name))

    def _watch_all(self) -> None:
        if not self.is_paused:
            for name, fd in self._open.items():
                self._watch(name, fd)

    @property
    def returncode(self) -> int:
        return self._process.wait()

    def stop(self, grace: float, name: str = "TERM") -> None:
        """Signal *name* to the whole session now, SIGKILL *grace* seconds later."""
        if grace > 0 and not self.ended:
            process.signal_sessions([self.pid], process.STOP_SIGNALS[name])
            self._timers.append(self._loop.after(grace, self.kill))
        else:
            self.kill()

    def kill(self) -> None:
        if not self.ended:
            process.kill_session(self.pid)

    def pause(self, seconds: float | None = None) -> None:
        """Read nothing until ``resume``, or for a while: a command that fills its pipe waits."""
        if not self.is_paused and not self.ended:
            self.is_paused = True
            self._pause = None if seconds is None else self._loop.after(seconds, self.resume)
            for fd in self._open.values():
                self._loop.unwatch(fd)

    def resume(self) -> None:
        if self.is_paused and not self.ended:
            self.is_paused = False
            if self._pause is not None:
                self._pause.cancel()
            self._watch_all()

    def _readable(self, name: str) -> None:
        data = os.read(self._open[name], READ_SIZE)
        self._read(name, data)
        if not data:
            self._close(name)
            self._reap()
        elif len(data) >= BULK_SIZE:
            self._bulk_until = time.monotonic() + BULK_TIME
        elif time.monotonic() > self._bulk_until and not process.has_ended(self._process):
            self._loop.unwatch(self._open[name])
            self._loop.after(READ_PAUSE, self._watch_all)

    def _reap(self) -> None:
        self._guard.reap_orphans()
        if self.ended or not process.has_ended(self._process):
            return
        if self._open:
            self._watch_all()
            self._timers.append(self._loop.after(DRAIN_TIMEOUT, self._finish))
        else:
            self._finish()

    def _finish(self) -> None:
        """Kill what is left of the session, once, at the end."""
        if self.ended:
            return
        self._guard.kill_session(self.pid)
        for name in list(self._open):
            self._read_rest(name, self._open[name])
            self._close(name)
        for timer in [*self._timers, self._pause]:
            if timer is not None:
                timer.cancel()
        self._guard.ended(self.pid)  # before it is reaped: its number is still its own
        self._process.wait()
        self._loop.forget_child(self._reap)
        self.ended = True
        self.on_end()

    def _close(self, name: str) -> None:
        fd = self._open.pop(name)
        self._loop.unwatch(fd)
        os.close(fd)

    def _read_rest(self, name: str, fd: int) -> None:
        os.set_blocking(fd, False)
        try:
            self._read(name, os.read(fd, 16 * READ_SIZE))  # more than a pipe holds
        except BlockingIOError:
            pass
        self._read(name, b"")
