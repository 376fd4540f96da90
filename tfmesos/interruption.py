"""Bring a failure into the main thread while that is busy inside a ``with`` block.

A real SIGINT does it, since only that ends a sleep or a read; ``cluster()`` knows it for ours.
Whoever handles SIGINT in a way of their own, and every other thread, learns of the failure when
they next ask. A call of C cannot be ended by a signal at all: of that we can only tell.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ARRIVAL = 1.0  # seconds a signal may need from us to ourselves
LOOK_EVERY = 1.0  # seconds

_inside: list[Interruption] = []  # of the blocks that the main thread is in


class Interruption:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_inside = False  # is the main thread in the block?
        self._left = threading.Event()
        self._listeners = 0  # calls of the main thread that wait to be told
        self._is_sent = self._is_traced = self._has_arrived = False

    def enter(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        self._is_inside = True
        _inside.append(self)
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _arrive)

    def leave(self) -> bool:
        """No signal comes after this. Was the block left because of ours?"""
        was_inside = self in _inside
        try:
            with self._lock:
                self._is_inside = False
            self._left.set()
            if self._is_sent and not self._has_arrived:
                time.sleep(ARRIVAL)
        except KeyboardInterrupt:
            if not self._is_sent:
                raise
        finally:
            if was_inside:
                _inside.remove(self)
            if not _inside and signal.getsignal(signal.SIGINT) is _arrive:
                signal.signal(signal.SIGINT, signal.default_int_handler)
        return self._is_sent

    @contextmanager
    def listening(self) -> Iterator[None]:
        """The caller waits for the news and needs no interruption."""
        counts = int(threading.current_thread() is threading.main_thread())
        with self._lock:
            self._listeners += counts
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= counts

    @property
    def is_needless(self) -> bool:
        """Has the block been left, or does the main thread listen anyway?"""
        return self._left.is_set() or self._listeners > 0

    def send(self) -> None:
        with self._lock:
            if not self._is_inside or self._listeners or self._is_sent:
                return
            handler = signal.getsignal(signal.SIGINT)
            if handler in (_arrive, signal.default_int_handler):  # a notebook puts that one back
                main = threading.main_thread().ident
                assert main is not None
                self._is_sent, self._is_traced = True, handler is _arrive
                signal.pthread_kill(main, signal.SIGINT)

    def await_arrival(self, within: float) -> str:
        """Empty once the signal has arrived; else the line from where TensorFlow was called.

        That is so when the call has not returned for *within* seconds, deaf to the signal.
        """
        call, since = None, 0.0
        while self._is_traced and not self._has_arrived and not self._left.wait(LOOK_EVERY):
            before, call = call, _tensorflow_call()
            if call is None or call != before:
                since = time.monotonic()
            elif time.monotonic() - since >= within:
                return call[-1]
        return ""


def _arrive(number: int, frame: FrameType | None) -> None:
    for interruption in _inside:
        interruption._has_arrived = interruption._is_sent
    signal.default_int_handler(number, frame)


def _tensorflow_call() -> tuple[int, int, str] | None:
    """Which call of TensorFlow the main thread is in, and the line of the program it came from."""
    frame = top = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None and _is_of_tensorflow(frame):
        frame = frame.f_back
    if top is None or frame is None or frame is top:
        return None
    return id(top), top.f_lasti, f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _is_of_tensorflow(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
    return package in ("tensorflow", "keras", "tf_keras")
