"""What the user sees. The only writer: everything on the screen passes through here.

A thread of its own writes, so that a slow terminal or a full pipe never stops the launcher.
When too much is waiting to be written, ``output`` waits, and the runners keep their lines.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from .actions import Ending, Outcome
from .hints import hint
from .record import Record
from .terminal import tidy, tidy_all
from .words import some

MAX_WAITING = 1024 * 1024  # characters that may wait to be written
WORTH_TELLING = 5.0  # seconds; of a shorter run only a terminal hears how long it took
SHOWN = {"debug": 10, "info": 20, "notice": 25, "warning": 30}

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)


class Screen(Record):
    """Where lines go: two functions that write text, and what they may hold."""

    out: Callable[[str], None]
    err: Callable[[str], None]
    terminal_out: bool = False
    terminal_err: bool = False
    colour_out: bool = False
    colour_err: bool = False
    live: bool = False  # may the last line be rewritten?

    @classmethod
    def of_this_process(cls) -> Screen:
        """The standard streams, written without Python's buffers: nothing waits in them."""
        plain = "NO_COLOR" in os.environ or os.environ.get("TERM") == "dumb"
        out, err = os.isatty(1), os.isatty(2)
        return cls(
            out=lambda text: _write_all(1, text),
            err=lambda text: _write_all(2, text),
            terminal_out=out,
            terminal_err=err,
            colour_out=out and not plain,
            colour_err=err and not plain,
            live=err and os.environ.get("TERM") != "dumb",
        )

    @classmethod
    def of_python(cls) -> Screen:
        """sys.stdout and sys.stderr as they are at the time, for notebooks and tests."""
        return cls(
            out=lambda text: _print(sys.stdout, text),
            err=lambda text: _print(sys.stderr, text),
            terminal_out=_is_terminal(sys.stdout),
            terminal_err=_is_terminal(sys.stderr),
        )


def _write_all(fd: int, text: str) -> None:
    data = memoryview(text.encode("utf-8", "backslashreplace"))
    while data:
        data = data[os.write(fd, data) :]


def _is_terminal(stream: Any) -> bool:
    return stream is not None and hasattr(stream, "isatty") and bool(stream.isatty())


def _print(stream: object, text: str) -> None:
    print(text, end="", file=stream, flush=True)  # type: ignore[call-overload]


class _LogHandler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        level = "warning" if record.levelno >= logging.WARNING else "debug"
        self._console.say(record.getMessage(), level)


def log_to(console: Console, level: str) -> None:
    """Have everything that tfmesos logs said on this console, from *level* on."""
    logger = logging.getLogger("tfmesos")
    logger.addHandler(_LogHandler(console))
    logger.setLevel(logging.DEBUG if level == "debug" else logging.WARNING)


class Console:
    def __init__(
        self,
        screen: Screen,
        *,
        prefix: str = "tfrun",
        level: str = "notice",
        named: Callable[[str], str] = str,
    ) -> None:
        """*named* tells how the user calls a setting: its flag; the library has fields."""
        self.named = named
        self._screen, self._prefix, self._level = screen, prefix, SHOWN[level]
        self.on_failure: Callable[[Exception], object] = lambda error: None
        self.failure: Exception | None = None  # of standard output, if it could not be written
        self.kept = ""  # what became of lines that are left out
        self._colours: dict[str, int] = {}
        self._queue: deque[tuple[bool, str]] = deque()  # (to standard error?, text)
        self._waiting = 0  # characters in the queue
        self._status = ""  # the live line
        self._drawn = ""
        self._closed = False
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._write_on, name="console", daemon=True)
        self._thread.start()

    async def output(self, name: str, stream: str, text: str, dropped: int) -> None:
        """Show whole lines of a task; returns when there is room for more."""
        is_err, screen = stream == "stderr", self._screen
        prefix = self._task_prefix(name, screen.colour_err if is_err else screen.colour_out)
        is_terminal = screen.terminal_err if is_err else screen.terminal_out
        if dropped:
            prefix_err = self._task_prefix(name, self._screen.colour_err)
            lost = f"({dropped} lines left out here: they came too fast{self.kept})"
            self._put(True, f"{prefix_err}{lost}\n")
        if text:
            self._put(is_err, _prefixed(text, prefix, is_terminal=is_terminal))
        await self._wait_for_room()

    def say(self, text: str, level: str = "notice") -> None:
        if SHOWN[level] >= self._level:
            self._put(True, f"{self._prefix}: {tidy_all(text)}\n")

    @property
    def is_live(self) -> bool:
        return self._screen.live

    def status(self, text: str) -> None:
        """Show *text* as the live line, where there can be one; nothing when empty."""
        if self.is_live and text != self._status:
            with self._changed:
                self._status = tidy(text)
                self._changed.notify()

    def report(self, outcome: Outcome) -> None:
        """The truth about the end of the run; of one that went well, where its time went."""
        if outcome.error is None:
            self._say_times(outcome)
            return
        lines = [str(outcome.error)]
        if outcome.cause is not None:
            lines += _last_lines(outcome.cause)
            cause = outcome.cause
            if way_out := hint(cause.tail, cause.code, cause.reason, self.named):
                lines.append(f"  hint: {way_out}")
        if outcome.cause is not None and outcome.others:
            lines.append(f"  ended after it, or because of it: {_named(outcome.others)}")
        if outcome.restarted:
            lines.append(f"  restarted before it: {_named(outcome.restarted)}")
        if outcome.unstopped:
            lines.append(f"  ended without waiting for {some(outcome.unstopped, most=8)}")
        safe = (tidy_all(line, indent="    ") for line in lines)
        self._put(True, f"{self._prefix}: " + "\n".join(safe) + "\n")

    def _say_times(self, outcome: Outcome) -> None:
        total = sum(seconds for _, seconds in outcome.times)
        if self.is_live or total >= WORTH_TELLING:
            long = [(what, seconds) for what, seconds in outcome.times if seconds >= 0.05]
            parts = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in long)
            self.say(f"done in {total:.1f} s: {parts}")

    def close(self, within: float | None = None) -> None:
        """Write what is left. *within* seconds, or however long the reader takes."""
        with self._changed:
            self._closed, self._status = True, ""
            self._changed.notify()
        self._thread.join(within)

    def _task_prefix(self, name: str, colour: bool) -> str:
        if not colour:
            return f"[{name}] "
        number = self._colours.setdefault(name, len(self._colours))
        return f"\x1b[{_COLOURS[number % len(_COLOURS)]}m[{name}]\x1b[0m "

    def _put(self, is_err: bool, text: str) -> None:
        if not text:
            return
        with self._changed:
            self._queue.append((is_err, text))
            self._waiting += len(text)
            self._changed.notify()

    async def _wait_for_room(self) -> None:
        with self._changed:
            if self._waiting < MAX_WAITING:
                return
            self._loop, self._room = asyncio.get_running_loop(), self._room or asyncio.Event()
            self._room.clear()
        await self._room.wait()

    def _write_on(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(self._has_work)
                batch, self._queue = self._queue, deque()
                status, closed = self._status, self._closed
            self._write(batch, status)
            if closed and not self._queue:
                return

    def _has_work(self) -> bool:
        return bool(self._queue) or self._closed or self._status != self._drawn

    def _write(self, batch: deque[tuple[bool, str]], status: str) -> None:
        self._draw("")
        for is_err, text in _joined(batch):
            self._write_one(is_err, text)
        self._draw(status)
        with self._changed:
            self._waiting -= sum(len(text) for _, text in batch)
            if self._waiting < MAX_WAITING / 2 and self._loop and self._room:
                self._loop.call_soon_threadsafe(self._room.set)
                self._loop = None

    def _draw(self, status: str) -> None:
        if status != self._drawn:
            width = _columns() - 1
            self._write_one(True, f"\r\x1b[K{status[:width]}")
            self._drawn = status

    def _write_one(self, is_err: bool, text: str) -> None:
        try:
            (self._screen.err if is_err else self._screen.out)(text)
        except (OSError, ValueError) as error:  # closed by its reader, or by the program itself
            if not is_err and self.failure is None:
                self.failure = error
                self.on_failure(error)


def _joined(batch: deque[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """The batch with neighbours for the same stream put together: fewer writes."""
    joined: list[tuple[bool, list[str]]] = []
    for is_err, text in batch:
        if joined and joined[-1][0] == is_err:
            joined[-1][1].append(text)
        else:
            joined.append((is_err, [text]))
    return [(is_err, "".join(texts)) for is_err, texts in joined]


def _prefixed(text: str, prefix: str, *, is_terminal: bool) -> str:
    """Every line of *text* with *prefix* before it; line by line only where it must be."""
    if is_terminal or "\r" in text:
        clean = tidy if is_terminal else _as_it_is
        return "".join(f"{prefix}{clean(line)}\n" for line in text[:-1].split("\n"))
    return prefix + text[:-1].replace("\n", f"\n{prefix}") + "\n"


def _as_it_is(line: str) -> str:
    return line.rstrip("\r")


def _named(endings: Sequence[Ending]) -> str:
    return some([f"{end.task.name} ({end.reason})" for end in endings], most=8)


def _last_lines(ending: Ending) -> list[str]:
    sandbox = [f"  its sandbox: {ending.sandbox}"] if ending.sandbox else []
    if not ending.tail:
        return sandbox
    tail = [f"    {tidy(line)}" for line in ending.tail]
    return ["  its last lines:", *tail, *sandbox]


def _columns() -> int:
    try:
        return os.get_terminal_size(2).columns
    except OSError:
        return 80
