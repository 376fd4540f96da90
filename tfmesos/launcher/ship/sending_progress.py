"""The progress of sending files to the tasks, in words. No I/O."""

from __future__ import annotations

from ...text import count, size_text

FIRST, NEXT = 1.0, 5.0  # seconds until it is first said, and between two lines
LOOK = 0.1  # seconds between two looks at it


class ShipProgress:
    """Of a pack of *size* bytes, which is sent to *tasks* tasks."""

    def __init__(self, size: int, tasks: int) -> None:
        self._size = size
        self._tasks = tasks
        self._sent: dict[str, int] = {}
        self._total = 0  # of them
        self._began = self._look_at = self._say_at = 0.0
        self.line = ""  # while it goes on, once it takes longer than a moment

    def sent(self, task_id: str, at: int, now: float) -> str:
        """This many bytes have been sent to a task; returns a line to show, if any."""
        if not self._sent:
            self._began = now
            self._look_at = now + FIRST
            self._say_at = now + FIRST
        self._total += at - self._sent.get(task_id, 0)
        self._sent[task_id] = at
        wanted = self._size * max(self._tasks, len(self._sent))
        is_over = self._total >= wanted
        if now < self._began + FIRST or (now < self._look_at and not is_over):
            return ""
        self._look_at = now + LOOK
        what = f"{size_text(self._size)} to {count(self._tasks, 'task')}"
        self.line = "" if is_over else f"sending {what}: {100 * self._total // wanted} %"
        if is_over:
            return f"sent {what} in {now - self._began:.1f} s"
        if now < self._say_at:
            return ""
        self._say_at = now + NEXT
        return self.line
