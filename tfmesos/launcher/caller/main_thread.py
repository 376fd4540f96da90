"""Raises a failure in the main thread while it is busy inside a ``with`` block.

A real SIGINT does this, since only that ends a sleep or a read; ``cluster()`` recognizes it as
ours. A program that handles SIGINT itself, and every other thread, learns of the failure when it
next asks.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

ARRIVAL = 1.0  # seconds that a signal to ourselves may take


class MainThread:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_inside = False  # is the main thread in the block?
        self._listeners = 0  # calls of the main thread that wait for news
        self._is_sent = False
        self._sent_to = (0, 0)
        self._sent_at = 0.0

    def enter(self) -> None:
        self._is_inside = threading.current_thread() is threading.main_thread()

    def leave(self, error: BaseException | None = None) -> bool:
        """After this no signal comes. Did we cause *error*, with which the block was left?"""
        try:
            with self._lock:
                self._is_inside = False
            if self._is_sent and not isinstance(error, KeyboardInterrupt):
                time.sleep(ARRIVAL)
        except KeyboardInterrupt:
            if not self._is_sent:
                raise
        return self._is_sent

    @contextmanager
    def listening(self) -> Iterator[None]:
        """The caller is waiting for the outcome and needs no interruption."""
        counts = int(threading.current_thread() is threading.main_thread())
        with self._lock:
            self._listeners += counts
        try:
            yield
        finally:
            with self._lock:
                self._listeners -= counts

    def interrupt(self, now: float) -> None:
        """Repeat if the main thread has not moved: a signal just before a wait does not end it."""
        main = threading.main_thread().ident
        assert main is not None
        with self._lock:
            if not self._is_inside or self._listeners:
                return
            where = _position(main)
            if self._is_sent and (where != self._sent_to or now < self._sent_at + ARRIVAL):
                return
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._is_sent = True
                self._sent_to = where
                self._sent_at = now
                signal.pthread_kill(main, signal.SIGINT)


def _position(thread: int) -> tuple[int, int]:
    """Where a thread is; unchanged while it waits."""
    frame = sys._current_frames()[thread]
    return id(frame), frame.f_lasti
