"""How far the files have come that are sent to the tasks, in words; nothing here does I/O."""

from __future__ import annotations

from ..text import count, size_text

FIRST, NEXT = 1.0, 5.0  # seconds until it is first said, and between two lines


class ShipProgress:
    """Of a pack of *size* bytes, which *tasks* tasks are sent."""

    def __init__(self, size: int, tasks: int) -> None:
        self._size, self._tasks = size, tasks
        self._sent: dict[str, int] = {}
        self._began, self._next = 0.0, 0.0
        self.line = ""  # while it goes on, once it takes longer than a moment

    def sent(self, task_id: str, at: int, now: float) -> str:
        """A task has been sent so many bytes; what is to be said about it now, if anything."""
        if not self._sent:
            self._began, self._next = now, now + FIRST
        self._sent[task_id] = at
        if now < self._began + FIRST:
            return ""
        total, sent = self._size * max(self._tasks, len(self._sent)), sum(self._sent.values())
        is_over = sent >= total
        what = f"{size_text(self._size)} to {count(self._tasks, 'task')}"
        self.line = "" if is_over else f"sending {what}: {100 * sent // total} %"
        if is_over:
            return f"sent {what} in {now - self._began:.1f} s"
        if now < self._next:
            return ""
        self._next = now + NEXT
        return self.line
