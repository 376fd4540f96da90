"""An event loop for one thread: files, signals and timers.

asyncio could do this, too, but takes longer to import than the rest of the runner.
"""

from __future__ import annotations

import select
import time

from ..shared.stdlib import signal, socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Callback = Callable[[], object]

READ = select.POLLIN
WRITE = select.POLLOUT


class Timer:
    """A call that is due at a certain time, unless it is cancelled."""

    def __init__(self, when: float, callback: Callback) -> None:
        self.when = when
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Loop:
    """Calls back when a file is ready, a signal has arrived or a timer is due.

    Use it in a `with`.
    """

    def __init__(self) -> None:
        self._poll = select.poll()
        self._watched: dict[int, tuple[int, Callback]] = {}
        self._timers: list[Timer] = []
        self._signals: dict[int, Callback] = {}
        self._of_children: list[Callback] = []
        self._before_wait: Callback = lambda: None
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()

    def __enter__(self) -> Loop:
        self._wakeup_reader.setblocking(False)
        self._wakeup_writer.setblocking(False)
        signal.set_wakeup_fd(self._wakeup_writer.fileno(), warn_on_full_buffer=False)
        self.watch(self._wakeup_reader.fileno(), READ, self._signalled)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        signal.set_wakeup_fd(-1)
        self._wakeup_reader.close()
        self._wakeup_writer.close()

    def before_wait(self, callback: Callback) -> None:
        """Call *callback* each time the loop is about to wait."""
        self._before_wait = callback

    def on_signal(self, number: int, callback: Callback) -> None:
        """Call *callback* after signal *number*. Children get its default, not our handling."""
        self._signals[number] = callback
        signal.signal(number, lambda _number, _frame: None)

    def on_child(self, callback: Callback) -> None:
        """Call *callback* whenever a child may have ended, until ``forget_child``."""
        self._of_children.append(callback)
        self.on_signal(signal.SIGCHLD, lambda: [one() for one in list(self._of_children)])

    def forget_child(self, callback: Callback) -> None:
        if callback in self._of_children:
            self._of_children.remove(callback)

    def watch(self, fd: int, events: int, callback: Callback) -> None:
        """Call *callback* whenever *fd* is ready for *events*; this replaces what was set."""
        self._watched[fd] = events, callback
        self._poll.register(fd, events)

    def unwatch(self, fd: int) -> None:
        if self._watched.pop(fd, None):
            self._poll.unregister(fd)

    def after(self, seconds: float, callback: Callback) -> Timer:
        timer = Timer(time.monotonic() + seconds, callback)
        self._timers.append(timer)
        return timer

    def run_until(self, condition: Callable[[], object]) -> None:
        """Call back whatever is due until *condition* holds."""
        while not condition():
            self._before_wait()
            ready = [(fd, self._watched[fd]) for fd, _ in self._poll.poll(self._time_left())]
            for fd, watch in ready:
                if self._watched.get(fd) is watch:  # not unwatched meanwhile
                    watch[1]()
            self._run_timers()

    def _time_left(self) -> float | None:
        """Milliseconds until the next timer, as poll takes them."""
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        if not self._timers:
            return None
        left = min(timer.when for timer in self._timers) - time.monotonic()
        return max(0.0, 1000 * left)

    def _run_timers(self) -> None:
        now = time.monotonic()
        due = sorted((t for t in self._timers if t.when <= now), key=lambda timer: timer.when)
        self._timers = [timer for timer in self._timers if timer.when > now]
        for timer in due:
            if not timer.cancelled:
                timer.callback()

    def _signalled(self) -> None:
        for number in set(self._wakeup_reader.recv(4096)):
            if number in self._signals:
                self._signals[number]()
