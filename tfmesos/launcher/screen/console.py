"""The screen of the user.

The only writer: all output passes through here.

A thread of its own writes, so that a slow terminal or a full pipe never stops the launcher. If too
much is waiting to be written, ``output`` waits, and the runners keep their lines.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

from ...core.outcome import Outcome
from ...sanitize import plain_all, tidy
from .failure_report import closing, failure_report, time_report
from .live_area import Live, LiveArea, StatusLine, terminal_size
from .standard_streams import Screen

MAX_WAITING = 1024 * 1024  # characters that may wait to be written
AT_ONCE = 64 * 1024  # characters in one write, about
HIDE_WITHIN = 0.5  # seconds for the terminal to take away what is live
STALLED = 2.0  # seconds a reader may take nothing when a run was asked to end
LEFT_OUT_WITHIN = 1.0  # seconds to say what was left out
WORTH_TELLING = 5.0  # seconds; of a shorter run only a terminal hears how long it took
SHOWN = {"debug": 10, "info": 20, "notice": 25, "warning": 30}

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)

Item = tuple[bool, str, int]  # (to standard error?, text, lines of tasks in it)
AS_MANY_AS_THERE_ARE = -1  # such lines; counted only if need be


class _LogHandler(logging.Handler):
    def __init__(self, console: Console) -> None:
        super().__init__()
        self._console = console

    def emit(self, record: logging.LogRecord) -> None:
        level = "warning" if record.levelno >= logging.WARNING else "debug"
        self._console.say(record.getMessage(), level)


def log_to(console: Console, level: str) -> None:
    """Show everything that tfmesos logs on this console, from *level* up."""
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
        """*named* returns the user's name of a setting: its flag; its field for the library."""
        self.named = named
        self._screen = screen
        self._prefix = prefix
        self._level = SHOWN[level]
        self.on_failure: Callable[[Exception], object] = lambda error: None
        self.on_say: Callable[[str], object] = lambda text: None
        self.failure: Exception | None = None  # of standard output, if it could not be written
        self.recorded_as = ""  # the id under which the run is found again
        self.kept = ""  # what became of lines that are left out
        self._began = time.monotonic()
        self._colours: dict[str, int] = {}
        self._queue: deque[Item] = deque()
        self._batch: deque[Item] = deque()  # taken from the queue, not yet written
        self._waiting = 0  # characters in both
        self._written = 0  # items, to see whether the reader takes any
        self._seen = 0  # the last time somebody looked
        self._left_out = 0  # lines that nobody was waited for to read
        self._hurried = False
        self._on_end: Callable[[], object] = lambda: None
        self._live: Live | None = None  # what is shown below all else
        self._drawn: Live | None = None
        self._is_hidden = self._is_stale = False
        self._area = LiveArea(partial(self._write_one, True), screen.colour_err)
        self._closed = False
        self._changed = threading.Condition()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._room: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._write_on, name="console", daemon=True)
        self._thread.start()

    async def output(self, name: str, stream: str, text: str, dropped: int) -> None:
        """Show whole lines of a task; returns when there is room for more."""
        if self._hurried and self._waiting >= MAX_WAITING:
            self._left_out += dropped + text.count("\n")
            return
        is_err, screen = stream == "stderr", self._screen
        prefix = self._task_prefix(name, screen.colour_err if is_err else screen.colour_out)
        is_terminal = screen.terminal_err if is_err else screen.terminal_out
        if dropped:
            prefix_err = self._task_prefix(name, self._screen.colour_err)
            lost = f"({dropped} lines left out here: they came too fast{self.kept})"
            self._put(True, f"{prefix_err}{lost}\n", dropped)
        if text:
            shown = _prefixed(text, prefix, is_terminal=is_terminal)
            self._put(is_err, shown, AS_MANY_AS_THERE_ARE)
        await self._wait_for_room()

    def say(self, text: str, level: str = "notice") -> None:
        if SHOWN[level] >= SHOWN["info"]:
            self.on_say(plain_all(text))
        if SHOWN[level] >= self._level:
            self._put(True, f"{self._prefix}: {self._time()}{plain_all(text)}\n")

    def _time(self) -> str:
        """The time since the beginning, for verbose output."""
        if self._level > SHOWN["info"]:
            return ""
        return f"{time.monotonic() - self._began:7.2f} s  "

    @property
    def is_live(self) -> bool:
        return self._screen.live

    def show(self, live: Live | None) -> None:
        """Show *live* below everything else, where possible; None shows nothing."""
        if self.is_live and live != self._live:
            with self._changed:
                self._live = live
                self._changed.notify()

    def status(self, text: str) -> None:
        """Show *text* as the live line."""
        self.show(StatusLine(text) if text else None)

    def redraw(self) -> None:
        """The terminal has another size."""
        with self._changed:
            self._is_stale = True
            self._changed.notify()

    def hide(self) -> bool:
        """Clear the live area before we are stopped; False if the terminal does not accept it."""
        with self._changed:
            self._is_hidden = True
            self._changed.notify()
            return self._changed.wait_for(lambda: self._drawn is None, HIDE_WITHIN)

    def unhide(self) -> None:
        with self._changed:
            self._is_hidden = False
            self._changed.notify()

    def report(self, outcome: Outcome) -> None:
        """Report the end of the run; if it succeeded, where its time went."""
        if outcome.error is None:
            self._say_times(outcome)
            return
        lines = failure_report(outcome, self.named)
        last = closing(lines, outcome, self.recorded_as, *terminal_size())
        for part in filter(None, (lines, last)):
            safe = (plain_all(line, indent="    ") for line in part)
            self._put(True, f"{self._prefix}: " + "\n".join(safe) + "\n")

    def _say_times(self, outcome: Outcome) -> None:
        total = sum(seconds for _, seconds in outcome.times)
        if self.is_live or total >= WORTH_TELLING or self._level <= SHOWN["info"]:
            self.say(time_report(outcome))

    def hurry(self) -> None:
        """From now on wait for no reader: lines without room are left out, and counted."""
        self._hurried = True
        if self._room is not None:
            self._room.set()

    async def finish(self) -> None:
        """Write what is left, however long the reader takes."""
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        self._on_end = lambda: _wake(loop, ended)
        self._end()
        await ended.wait()

    def close(self, stalled_for: float | None = None) -> None:
        """Write what is left, and report what was not written.

        *stalled_for* is for how many seconds a reader may stall; None: without limit.
        """
        self._end()
        self._thread.join(stalled_for)
        while self._thread.is_alive() and self._is_read():
            self._thread.join(stalled_for)
        self._say_what_is_left_out()

    def _end(self) -> None:
        with self._changed:
            self._closed = True
            self._live = None
            self._changed.notify()

    def _is_read(self) -> bool:
        """Has anything been written since the last call?"""
        seen = self._seen
        self._seen = self._written
        return seen != self._seen

    def _say_what_is_left_out(self) -> None:
        """Written past the thread, which hangs in a write then, and with a time limit."""
        with self._changed:
            rest = [*self._batch, *self._queue]
        lines = self._left_out + sum(map(_lines, rest))
        if not lines:
            return
        ours = "".join(text for is_err, text, lines in rest if is_err and not lines)
        words = f"{self._prefix}: about {lines} lines of output were left out: nobody read them\n"
        last = threading.Thread(target=self._write_one, args=(True, ours + words), daemon=True)
        last.start()
        last.join(LEFT_OUT_WITHIN)

    def _task_prefix(self, name: str, colour: bool) -> str:
        if not colour:
            return f"[{name}] "
        number = self._colours.setdefault(name, len(self._colours))
        return f"\x1b[{_COLOURS[number % len(_COLOURS)]}m[{name}]\x1b[0m "

    def _put(self, is_err: bool, text: str, lines: int = 0) -> None:
        if not text:
            return
        if not self._thread.is_alive():  # it has written all it was given, and ended
            self._write_one(is_err, text)
            return
        with self._changed:
            self._queue.append((is_err, text, lines))
            self._waiting += len(text)
            self._changed.notify()

    async def _wait_for_room(self) -> None:
        with self._changed:
            if self._waiting < MAX_WAITING or self._hurried:
                return
            self._loop = asyncio.get_running_loop()
            self._room = self._room or asyncio.Event()
            self._room.clear()
        await self._room.wait()

    def _write_on(self) -> None:
        is_over = False
        while not is_over:
            with self._changed:
                self._changed.wait_for(self._has_work)
                self._batch = _joined(self._queue)
                self._queue = deque()
                live = self._wanted
                closed = self._closed
                self._is_stale = False
            self._write(live)
            is_over = closed and not self._queue
        self._on_end()

    @property
    def _wanted(self) -> Live | None:
        return None if self._is_hidden else self._live

    def _has_work(self) -> bool:
        is_new = self._wanted != self._drawn or (self._is_stale and self._drawn is not None)
        return bool(self._queue) or self._closed or is_new

    def _write(self, live: Live | None) -> None:
        if self._batch:
            self._area.draw(None)
        while self._batch:
            is_err, text, _ = self._batch[0]
            self._write_one(is_err, text)
            self._make_room()
        self._area.draw(live)
        with self._changed:
            self._drawn = live
            self._changed.notify()

    def _make_room(self) -> None:
        """The first item of the batch has been written."""
        with self._changed:
            self._waiting -= len(self._batch.popleft()[1])
            self._written += 1
            if self._waiting < MAX_WAITING / 2 and self._loop and self._room:
                _wake(self._loop, self._room)
                self._loop = None

    def _write_one(self, is_err: bool, text: str) -> None:
        try:
            (self._screen.err if is_err else self._screen.out)(text)
        except (OSError, ValueError) as error:  # closed by its reader, or by the program itself
            if not is_err and self.failure is None:
                self.failure = error
                self.on_failure(error)


def _wake(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    with suppress(RuntimeError):  # the loop is closed: nobody waits there any more
        loop.call_soon_threadsafe(event.set)


def _joined(items: Iterable[Item]) -> deque[Item]:
    """The items, with neighbours of the same kind joined: fewer writes."""
    joined: deque[tuple[bool, list[str], int]] = deque()
    size = 0
    for is_err, text, lines in items:
        fits = joined and size < AT_ONCE and lines <= 0
        if fits and (joined[-1][0], joined[-1][2]) == (is_err, lines):
            joined[-1][1].append(text)
            size += len(text)
        else:
            joined.append((is_err, [text], lines))
            size = len(text)
    return deque((is_err, "".join(texts), lines) for is_err, texts, lines in joined)


def _lines(item: Item) -> int:
    _, text, lines = item
    return text.count("\n") if lines == AS_MANY_AS_THERE_ARE else lines


def _prefixed(text: str, prefix: str, *, is_terminal: bool) -> str:
    """Every line of *text* with *prefix* before it; split into lines only if necessary."""
    if is_terminal or "\r" in text:
        clean = tidy if is_terminal else _last_state
        return "".join(f"{prefix}{clean(line)}\n" for line in text[:-1].split("\n"))
    return prefix + text[:-1].replace("\n", f"\n{prefix}") + "\n"


def _last_state(line: str) -> str:
    """The last state of a progress bar; all states would be one very long line."""
    return line.rstrip("\r").rpartition("\r")[2]
