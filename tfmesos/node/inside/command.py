"""A command that runs alongside that of the task, on pipes or a terminal."""

from __future__ import annotations

import os
import sys

from ...errors import FrameError
from ...shared import process, wire
from ...shared.channel import PIECE, STDERR, STDOUT, TASK_ENDED
from ...shared.stdlib import signal
from ..loop import READ, WRITE, Timer
from ..process.spawn import spawn
from .work import CannotBegin, Work, careful

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...shared.wire import Message
    from ..process.spawn import Spawned
    from .work import Opened

MARK = "TFMESOS_EXEC_ID"  # in the environment of all that the command starts
SHELLS = ("/bin/bash", "/bin/sh")
LEAVE_TIME = 1.0  # seconds from SIGHUP to SIGKILL, when whoever asked has left
DRAIN_TIME = 0.5  # seconds for output of an ended command that others hold open


class Command(Work):
    def __init__(self, opened: Opened) -> None:
        """CannotBegin if the command cannot be started."""
        super().__init__(opened.channel, opened.over)
        surroundings = opened.surroundings
        request = opened.request
        self._loop = surroundings.loop
        self._guard = surroundings.get_guard()
        self._mark = f"{surroundings.settings.task}-{self.channel.number}"
        self._input = bytearray()  # that the command has yet to take
        self._input_ended = False
        self._timers: list[Timer] = []
        self._has_exited = False
        self._was_left = False
        self._moved = False  # any output, since somebody looked
        self._terminal = -1
        argv = words(request, "argv") or [_shell(surroundings.env)]
        env = {**surroundings.env, MARK: self._mark, **_terminal_name(request)}
        self._open: dict[int, int] = {}  # stream -> where its output is read
        self._process = self._start(argv, env, surroundings.cwd, request)
        for fd in {self._in, *self._open.values()}:
            os.set_blocking(fd, False)
        self._loop.on_child(self._reap)
        self.has_room()
        self._reap()

    def _start(self, argv: list[str], env: dict[str, str], cwd: str, request: Message) -> Spawned:
        size = _terminal_size(request)
        theirs = self._open_pipes() if size is None else self._open_terminal()
        try:
            if size is not None:
                self.resize(*size)
            return spawn(argv, env, cwd, theirs, self._guard, at_terminal=size is not None)
        except (OSError, ValueError) as error:
            for fd in {self._in, *self._open.values()}:
                os.close(fd)
            raise CannotBegin(*process.could_not_start(argv[0], error)) from None
        finally:
            for fd in set(theirs):
                os.close(fd)

    def _open_pipes(self) -> tuple[int, int, int]:
        stdin, self._in = os.pipe()
        out, stdout = os.pipe()
        err, stderr = os.pipe()
        self._open = {STDOUT: out, STDERR: err}
        return stdin, stdout, stderr

    def _open_terminal(self) -> tuple[int, int, int]:
        self._terminal, theirs = os.openpty()
        self._in = self._terminal
        self._open = {STDOUT: self._terminal}
        return theirs, theirs, theirs

    def resize(self, rows: int, columns: int) -> None:
        if self._terminal >= 0:
            import fcntl  # is rarely needed
            import termios

            sides = (min(side, 0xFFFF) for side in (rows, columns, 0, 0))
            size = b"".join(side.to_bytes(2, sys.byteorder) for side in sides)
            fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, size)

    # What it reads

    def take(self, data: bytes) -> None:
        if self._in < 0:
            return self.channel.took(len(data))
        self._input += data
        self._watch_all()

    def end_of_input(self) -> None:
        self._input_ended = True
        self._write()

    def _write(self) -> None:
        if self._in < 0:
            return
        try:
            if self._input:
                written = os.write(self._in, self._input[:PIECE])
                del self._input[:written]
                self.channel.took(written)
        except BlockingIOError:
            pass
        except OSError:
            return self._close_input()
        if self._input_ended and not self._input:
            self._close_input()
        self._watch_all()

    def _close_input(self) -> None:
        """Data for a command that reads no more counts as taken."""
        self.channel.took(len(self._input))
        self._input.clear()
        if self._in >= 0 and self._in != self._terminal:
            self._loop.unwatch(self._in)
            os.close(self._in)
            self._in = -1

    # What it writes

    def has_room(self) -> None:
        self._watch_all()

    def _watch_all(self) -> None:
        """Wait for as much as can be used. A terminal is one file for both directions."""
        if self.is_over:
            return
        wanted = dict.fromkeys([*self._open.values(), *([self._in] if self._in >= 0 else [])], 0)
        for fd in self._open.values():
            wanted[fd] |= READ if self.channel.room > 0 else 0
        if self._in >= 0 and self._input:
            wanted[self._in] |= WRITE
        for fd, events in wanted.items():
            if events:
                self._loop.watch(fd, events, self._ready)
            else:
                self._loop.unwatch(fd)

    @careful
    def _ready(self) -> None:
        if self._input:
            self._write()
        for stream in list(self._open):
            self._read(stream)
        self._watch_all()

    def _read(self, stream: int) -> None:
        size = min(PIECE, self.channel.room)
        if size <= 0 or stream not in self._open:
            return
        try:
            data = os.read(self._open[stream], size)
        except BlockingIOError:
            return
        except OSError:  # what a terminal says when nobody is left at its other side
            data = b""
        if data:
            self._moved = True
            self.channel.write(data, stream)
        else:
            self._close_output(stream)

    def _close_output(self, stream: int) -> None:
        fd = self._open.pop(stream)
        self._loop.unwatch(fd)
        if fd != self._terminal:
            os.close(fd)
        if self._has_exited and not self._open:
            self._finish()

    # How it ends

    def leave(self) -> None:
        self._was_left = True
        if not self.is_over:
            process.signal_sessions([self._process.pid], signal.SIGHUP)
            self._timers.append(self._loop.after(LEAVE_TIME, self.cut))

    @careful
    def cut(self) -> None:
        if not self.is_over:
            self._kill()
            self._finish(TASK_ENDED)

    def _kill(self) -> None:
        process.kill_session(self._process.pid)
        process.kill_marked(MARK, self._mark)

    @careful
    def _reap(self) -> None:
        if self.is_over or self._has_exited or not process.has_ended(self._process):
            return
        self._has_exited = True
        self._kill()
        if self._was_left or not self._open:
            return self._finish()
        self._moved = True
        self._finish_when_still()

    @careful
    def _finish_when_still(self) -> None:
        """A process that left its session may hold the output open without writing."""
        if self.is_over:
            return
        if not self._moved and self.channel.room > 0:
            return self._finish()
        self._moved = False
        self._timers.append(self._loop.after(DRAIN_TIME, self._finish_when_still))

    def _finish(self, problem: str = "") -> None:
        if self.is_over:
            return
        for timer in self._timers:
            timer.cancel()
        for fd in {self._in, self._terminal, *self._open.values()} - {-1}:
            self._loop.unwatch(fd)
            os.close(fd)
        self._open.clear()
        self._in = self._terminal = -1
        self._loop.forget_child(self._reap)
        self._guard.ended(self._process.pid)  # before it is reaped: its number is still its own
        self.done(process.ending(self._process.wait())[0], problem)


def words(request: Message, name: str) -> list[str]:
    """The field *name* of *request*, a list of words."""
    found = wire.field(request, name, list)
    if not all(isinstance(word, str) for word in found):
        raise FrameError(f"{name!r} that are not words")
    return found


def _terminal_size(request: Message) -> tuple[int, int] | None:
    """Rows and columns, if a terminal is wanted."""
    if request.get("rows") is None:
        return None
    return wire.count(request, "rows"), wire.count(request, "columns")


def _terminal_name(request: Message) -> dict[str, str]:
    name = request.get("term")
    return {"TERM": name} if isinstance(name, str) and name else {}


def _shell(env: Mapping[str, str]) -> str:
    wished = env.get("SHELL", "")
    return next((one for one in (wished, *SHELLS) if os.access(one, os.X_OK)), SHELLS[-1])
