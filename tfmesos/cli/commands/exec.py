"""``tfrun exec``."""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import suppress
from functools import partial

from ...launcher.screen.standard_streams import EX_IOERR, NOBODY_READS, write_all
from ...node.loop import READ, Loop
from ...runs.inside.channel_end import ChannelEnd, connect
from ...runs.run_files import RunDirectory
from ...shared.channel import PIECE, STDERR
from ...shared.stdlib import signal
from .answer import say
from .choice import living_run, task_and_rest, task_of
from .common_arguments import Argument, switch

HELP = "run a command inside a task, in its directory and environment, alongside its own command"
USAGE = "tfrun exec [-h] [-t] [ID] TASK [--] [command ...]"
ARGUMENTS: tuple[Argument, ...] = (
    switch("-t", "--tty", help="give the command a terminal; without a command, start a shell"),
    (
        ("words",),
        {
            "nargs": argparse.REMAINDER,
            "metavar": "[ID] TASK [--] command",
            "help": (
                "id of the run (default: the only active run), name of the task, such as "
                "worker:0, and the command, after an optional --"
            ),
        },
    ),
)


def run(args: argparse.Namespace) -> int:
    prefix, name, command = task_and_rest(args.words)
    if not command and not args.tty:
        say("name a command, or give -t for a shell")
        return 2
    if args.tty and not os.isatty(0):
        say("-t needs a terminal on standard input")
        return 2
    found = living_run(prefix)
    with Loop() as loop:
        return _Exec(loop, found, task_of(found, name), command, args.tty).run()


class _Exec:
    def __init__(
        self, loop: Loop, run: RunDirectory, task: str, command: list[str], at_terminal: bool
    ) -> None:
        self._loop = loop
        self._task = task
        self._terminal = Terminal() if at_terminal else None
        more: dict[str, object] = {}
        if self._terminal is not None:
            rows, columns = self._terminal.size()
            more = {"rows": rows, "columns": columns, "term": os.environ.get("TERM", "")}
        connection = connect(run, task, do="exec", argv=command, **more)
        self._end = ChannelEnd(loop, connection, self._take, self._has_room)
        self._input_ended = False
        self._code: int | None = None  # if we end before it does

    def run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                self._loop.on_signal(number, partial(self._leave, 128 + number))
        if self._terminal is not None:
            self._loop.on_signal(signal.SIGWINCH, self._resize)
            self._loop.on_signal(signal.SIGTSTP, self._stop)
            self._loop.on_signal(signal.SIGCONT, self._continue)
            self._terminal.make_raw()
        try:
            self._loop.run_until(lambda: self._end.is_over)
        finally:
            if self._terminal is not None:
                self._terminal.restore()
        if self._code is not None:
            return self._code
        if self._end.problem:
            say(f"{self._task}: {self._end.problem}")
        return self._end.code

    def _leave(self, code: int) -> None:
        self._code = code
        self._end.close()

    def _stop(self) -> None:
        """Handles a SIGTSTP from another process: Ctrl-Z goes to the command inside the task."""
        assert self._terminal is not None
        self._terminal.restore()
        os.kill(os.getpid(), signal.SIGSTOP)

    def _continue(self) -> None:
        """The shell may have changed the terminal modes, and the window its size."""
        assert self._terminal is not None
        self._terminal.make_raw()
        self._resize()

    def _resize(self) -> None:
        assert self._terminal is not None
        rows, columns = self._terminal.size()
        self._end.channel.tell("resize", rows=rows, columns=columns)

    def _take(self, stream: int, data: bytes) -> None:
        """Blocking here is fine: more data is requested when this is written."""
        try:
            write_all(2 if stream == STDERR else 1, data)
        except BrokenPipeError:
            self._leave(NOBODY_READS)
        except OSError as error:
            say(f"cannot write the output: {error.strerror}")
            self._leave(EX_IOERR)

    def _has_room(self) -> None:
        if not self._input_ended:
            self._loop.watch(0, READ, self._read)

    def _read(self) -> None:
        room = min(self._end.channel.room, PIECE)
        if self._end.is_over or room <= 0:
            return self._loop.unwatch(0)
        try:
            data = os.read(0, room)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            return self._end.channel.write(data, 0)
        self._input_ended = True
        self._loop.unwatch(0)
        self._end.channel.end()


class Terminal:
    """Our terminal, which passes on every key while it is raw.

    A background process that changes its modes is stopped, so they are not changed then.
    """

    def __init__(self) -> None:
        import termios

        self._termios = termios
        self._before = termios.tcgetattr(0)

    def size(self) -> tuple[int, int]:
        size = os.get_terminal_size(0)
        return size.lines, size.columns

    def make_raw(self) -> None:
        import tty

        if self._is_in_foreground:
            tty.setraw(0)

    def restore(self) -> None:
        sys.stdout.flush()
        if self._is_in_foreground:
            with suppress(self._termios.error):  # it has been hung up
                self._termios.tcsetattr(0, self._termios.TCSADRAIN, self._before)

    @property
    def _is_in_foreground(self) -> bool:
        try:
            return os.tcgetpgrp(0) == os.getpgrp()
        except OSError:  # it is not the one of our session
            return True
