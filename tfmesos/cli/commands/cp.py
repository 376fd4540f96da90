"""``tfrun cp``."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from ...errors import TFMesosError
from ...launcher.screen.standard_streams import EX_IOERR, NOBODY_READS, write_all
from ...node.loop import READ, Loop
from ...node.process.remover import Remover
from ...runs.inside.channel_end import ChannelEnd, connect
from ...runs.run_files import RunDirectory
from ...sanitize import plain
from ...shared import copy_stream
from ...shared.channel import PIECE
from ...shared.stdlib import signal
from ...text import size_text
from .answer import say
from .choice import living_run, task_of
from .common_arguments import Argument

HELP = "copy files and directories into or out of a running task"
USAGE = "tfrun cp [-h] [ID:]TASK:PATH LOCAL | LOCAL [ID:]TASK:PATH"
ARGUMENTS: tuple[Argument, ...] = (
    (
        ("source",),
        {
            "metavar": "SOURCE",
            "help": "what to copy: worker:0:model.keras, or a path on this machine",
        },
    ),
    (
        ("target",),
        {
            "metavar": "TARGET",
            "help": (
                "where to copy it: a path on this machine, or worker:0:data; - is standard output "
                "or input. A relative path in a task starts at the working directory of its "
                "command"
            ),
        },
    ),
)
_OF_TASK = re.compile(r"(?:(?P<id>[^:/]+):)?(?P<task>[^:/]+:[0-9]+):(?P<path>.*)", re.S)
_SHOW_EVERY = 0.2  # seconds


class CannotCopy(TFMesosError):
    exit_code = 1


class WrongArguments(TFMesosError):
    exit_code = 2


def run(args: argparse.Namespace) -> int:
    source, target = _OF_TASK.fullmatch(args.source), _OF_TASK.fullmatch(args.target)
    there = source or target
    if there is None or (source and target):
        raise WrongArguments(
            f"one of {args.source!r} and {args.target!r} must be a path in a task, and the other a "
            "path on this machine: tfrun cp worker:0:model.keras ."
        )
    found = living_run(there["id"])
    task = task_of(found, there["task"])
    with Loop() as loop:
        if source:
            return _Out(loop, found, task, source["path"], args.target).run()
        return _In(loop, found, task, there["path"], args.source).run()


class _Copy:
    """Either way: ``problem`` is what went wrong at this end."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._end: ChannelEnd
        self._problem = ""
        self._code: int | None = None
        self._moved = 0  # bytes
        self._began = self._shown = time.monotonic()

    def run(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self._loop.on_signal(number, partial(self._interrupt, 128 + number))
        try:
            self._loop.run_until(lambda: self._end.is_over)
            if self._code is None and not self._problem and not self._end.problem:
                self._try(self._finish)
        finally:
            self._abandon()
            self._show(is_last=True)
        if self._code is not None:
            return self._code
        if self._problem or self._end.problem:
            raise CannotCopy(self._problem or f"{self._task}: {self._end.problem}")
        return self._end.code

    _task = ""

    def _interrupt(self, code: int) -> None:
        self._code = code
        self._end.close()

    def _fail(self, problem: str) -> None:
        self._problem = problem
        self._end.close()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except (OSError, copy_stream.CannotCopy) as error:
            self._fail(copy_stream.in_words(error))

    def _finish(self) -> None:
        """Everything was received, or sent."""

    def _abandon(self) -> None:
        """Remove what was received only in part."""

    def _count(self, size: int) -> None:
        self._moved += size
        if time.monotonic() - self._shown >= _SHOW_EVERY:
            self._show()

    def _show(self, is_last: bool = False) -> None:
        now = time.monotonic()
        self._shown = now
        if os.isatty(2):
            rate = size_text(int(self._moved / max(now - self._began, 0.001)))
            text = f"tfrun: {size_text(self._moved)}, {rate}/s"
            sys.stderr.write(f"\r{text}\x1b[K" + ("\n" if is_last else ""))
            sys.stderr.flush()


class _Out(_Copy):
    """From a task to this machine."""

    def __init__(self, loop: Loop, run: RunDirectory, task: str, path: str, local: str) -> None:
        super().__init__(loop)
        self._task = task
        self._received: copy_stream.Received | None = None
        self._remover: Remover | None = None
        if local == "-" and sys.stdout is None:
            raise CannotCopy("-: standard output is closed")
        if local != "-":
            name = os.path.basename(os.path.normpath(path or "."))
            if name in (".", "..", "/"):
                name = task.replace(":", "-")
            self._received = self._at(copy_stream.destination(local, name))
        try:
            connection = connect(run, task, do="copy_out", path=path or ".", raw=local == "-")
        except TFMesosError:
            self._abandon()
            raise
        self._end = ChannelEnd(loop, connection, self._take)

    def _at(self, place: str) -> copy_stream.Received:
        if os.path.isdir(place):
            raise CannotCopy(f"{place} exists")
        try:
            return copy_stream.Received(place, warn_guard=self._warn)
        except copy_stream.CannotCopy as error:
            raise CannotCopy(str(error)) from None

    def _warn(self, coming: str) -> None:
        self._remover = Remover(coming)

    def _take(self, stream: int, data: bytes) -> None:
        self._count(len(data))
        if self._received is not None:
            return self._try(partial(self._received.feed, data))
        try:
            write_all(1, data)
        except BrokenPipeError:
            self._interrupt(NOBODY_READS)
        except OSError as error:
            say(f"cannot write to standard output: {error.strerror}")
            self._interrupt(EX_IOERR)

    def _finish(self) -> None:
        if self._received is None:
            return
        self._received.finish()
        _say_left_out(self._received.left_out)
        self._received = None

    def _abandon(self) -> None:
        if self._received is not None:
            self._received.abandon()
        if self._remover is not None:
            self._remover.close()
            self._remover = None


class _In(_Copy):
    """From this machine into a task."""

    def __init__(self, loop: Loop, run: RunDirectory, task: str, path: str, local: str) -> None:
        super().__init__(loop)
        self._task = task
        self._from_input = local == "-"
        self._rest = b""
        if self._from_input and sys.stdin is None:
            raise CannotCopy("-: standard input is closed")
        name = "input" if self._from_input else os.path.basename(os.path.abspath(local))
        if not self._from_input and not os.path.exists(local):
            raise CannotCopy(f"{local} does not exist")
        self._left_out: list[str] = []
        self._pieces: Iterator[bytes] = (
            iter(()) if self._from_input else copy_stream.sent(local, self._left_out.append)
        )
        self._has_sent_all = False
        connection = connect(
            run, task, do="copy_in", path=path or ".", name=name, raw=self._from_input
        )
        self._end = ChannelEnd(loop, connection, lambda stream, data: None, self._send)

    def _send(self) -> None:
        if self._from_input and not self._has_sent_all:
            return self._loop.watch(0, READ, self._read)
        self._try(self._send_pieces)

    def _send_pieces(self) -> None:
        while self._end.channel.room > 0 and not self._has_sent_all:
            data = self._rest or next(self._pieces, b"")
            if not data:
                return self._sent_all()
            self._rest = data[self._end.channel.room :]
            self._write(data[: self._end.channel.room])

    def _read(self) -> None:
        room = min(PIECE, self._end.channel.room)
        if room <= 0 or self._end.is_over:
            return self._loop.unwatch(0)
        try:
            data = os.read(0, room)
        except BlockingIOError:
            return
        except OSError as error:  # not its end: only part of the input has come
            return self._fail(f"cannot read standard input: {error.strerror}")
        if data:
            return self._write(data)
        self._loop.unwatch(0)
        self._sent_all()

    def _write(self, data: bytes) -> None:
        self._count(len(data))
        self._end.channel.write(data, 0)

    def _sent_all(self) -> None:
        self._has_sent_all = True
        self._end.channel.end()

    def _finish(self) -> None:
        _say_left_out(self._left_out)


def _say_left_out(paths: Iterable[str]) -> None:
    for path in paths:
        say(
            "skipped, because it is not a regular file, or is a link that points outside: "
            f"{plain(path)}"
        )
