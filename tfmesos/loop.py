"""One thread that waits for files, signals and moments at once.

asyncio would do it too, but takes longer to import than all the rest of the runner.
"""

from __future__ import annotations

import selectors
import signal
import socket
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType
    from typing import Callable

    Callback = Callable[[], object]

READ = selectors.EVENT_READ
WRITE = selectors.EVENT_WRITE


class Timer:
    """A call that is due at a moment, unless it is cancelled before."""

    def __init__(self, when: float, callback: Callback) -> None:
        self.when, self.callback, self.cancelled = when, callback, False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Calls back when a file is ready, a signal came or a moment has come. Use it in a `with`."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._signals: dict[int, Callback] = {}
        self._before_wait: Callback = lambda: None
        self._alarm, self._bell = socket.socketpair()

    def __enter__(self) -> Loop:
        self._alarm.setblocking(False)
        self._bell.setblocking(False)
        signal.set_wakeup_fd(self._bell.fileno(), warn_on_full_buffer=False)
        self.watch(self._alarm.fileno(), READ, self._signalled)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        self._selector.close()
        self._alarm.close()
        self._bell.close()

    def before_wait(self, callback: Callback) -> None:
        """Call *callback* each time all is done and the loop is about to wait."""
        self._before_wait = callback

    def on_signal(self, number: int, callback: Callback) -> None:
        """Call *callback* after signal *number*. Children get its default, not our handling."""
        self._signals[number] = callback
        signal.signal(number, lambda _number, _frame: None)

    def watch(self, fd: int, events: int, callback: Callback) -> None:
        """Call *callback* whenever *fd* is ready for *events*; this replaces what was set."""
        if fd in self._selector.get_map():
            self._selector.modify(fd, events, callback)
        else:
            self._selector.register(fd, events, callback)

    def unwatch(self, fd: int) -> None:
        if fd in self._selector.get_map():
            self._selector.unregister(fd)

    def after(self, seconds: float, callback: Callback) -> Timer:
        timer = Timer(time.monotonic() + seconds, callback)
        self._timers.append(timer)
        return timer

    def run_until(self, condition: Callable[[], object]) -> None:
        """Call back whatever is due until *condition* holds."""
        while not condition():
            self._before_wait()
            for key, _events in self._selector.select(self._time_left()):
                if self._selector.get_map().get(key.fd) == key:  # not unwatched meanwhile
                    key.data()
            self._run_timers()

    def _time_left(self) -> float | None:
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        if not self._timers:
            return None
        return max(0.0, min(timer.when for timer in self._timers) - time.monotonic())

    def _run_timers(self) -> None:
        now = time.monotonic()
        due = sorted((t for t in self._timers if t.when <= now), key=lambda timer: timer.when)
        self._timers = [timer for timer in self._timers if timer.when > now]
        for timer in due:
            if not timer.cancelled:
                timer.callback()

    def _signalled(self) -> None:
        for number in set(self._alarm.recv(4096)):
            if number in self._signals:
                self._signals[number]()
