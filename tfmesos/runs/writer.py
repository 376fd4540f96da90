"""A thread that writes to the disk, so that a slow one never stops the launcher."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from ..launcher.observer import Counted
from .task_log import NotWritten

Marks = dict[str, Counted]  # the last message of each task, by its id
PLENTY = 1024 * 1024  # bytes that are worth writing at once
MOST_WAITING = 16 * 1024 * 1024  # bytes
WRITE_EVERY = 0.1  # seconds; a crash loses no more than that


class Appendable(Protocol):
    def append(self, data: bytes) -> None: ...


class Writer:
    """*on_failure* is called once with what cannot be written, and nothing is written after that.

    *on_lost* gets what was waiting and is not written.
    """

    def __init__(
        self,
        on_failure: Callable[[OSError], object],
        on_lost: Callable[[Appendable, bytes], object] = lambda file, data: None,
        on_counted: Callable[[Marks], object] = lambda marks: None,
    ) -> None:
        """*on_counted* gets, on the thread, the messages that all data so far belongs to."""
        self._on_failure = on_failure
        self._on_lost = on_lost
        self._on_counted = on_counted
        self._marks: Marks = {}
        self._waiting: dict[Appendable, list[bytes]] = {}
        self._size = 0
        self._is_closed = self.has_failed = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._write_on, name="record", daemon=True)
        self._thread.start()

    def put(self, file: Appendable, data: bytes, counted: Counted | None = None) -> bool:
        """False if too much is waiting already; then this is left out."""
        with self._changed:
            if self._is_idle or self._size > PLENTY:
                self._changed.notify()
            if counted is not None:
                self._marks[counted.task_id] = counted
            if self._size > MOST_WAITING or self.has_failed:
                return False
            self._waiting.setdefault(file, []).append(data)
            self._size += len(data)
        return True

    def count(self, counted: Counted) -> None:
        """Count a message of which nothing is written here."""
        with self._changed:
            if self._is_idle:
                self._changed.notify()
            self._marks[counted.task_id] = counted

    @property
    def _is_idle(self) -> bool:
        """If so, the thread waits to be woken; otherwise it writes, or waits until that is due."""
        return not self._waiting and not self._marks

    def close(self, within: float) -> bool:
        """Write what is left. False if that takes longer than *within* seconds."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(within)
        return not self._thread.is_alive()

    def _write_on(self) -> None:
        is_closed = False
        while not is_closed:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._marks or self._is_closed)
                if not self._is_closed:
                    self._changed.wait_for(self._is_due, WRITE_EVERY)
                batch, marks = self._waiting, self._marks
                self._waiting = {}
                self._marks = {}
                self._size = 0
                is_closed = self._is_closed
            self._write(batch)
            if marks:
                self._on_counted(marks)

    def _is_due(self) -> bool:
        return self._is_closed or self._size > PLENTY

    def _write(self, batch: dict[Appendable, list[bytes]]) -> None:
        for file, pieces in batch.items():
            data = b"".join(pieces)
            if self.has_failed:
                self._on_lost(file, data)
            else:
                self._append(file, data)

    def _append(self, file: Appendable, data: bytes) -> None:
        try:
            file.append(data)
        except OSError as error:
            self.has_failed = True
            self._on_lost(file, error.rest if isinstance(error, NotWritten) else data)
            self._on_failure(error)
