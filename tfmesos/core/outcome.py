"""How a run ended, and how each of its tasks ended."""

from __future__ import annotations

import re

from ..config.job import Task
from ..errors import TaskFailed, TFMesosError
from ..record import Record

# What happened, and the words about it after a semicolon, if that is not within brackets.
_WITH_REMARK = re.compile(r"((?:[^;()]|\([^()]*\))*)(; .*)", re.S)


class Ending(Record):
    """How one task ended, for the report."""

    task: Task
    hostname: str
    code: int
    reason: str
    tail: tuple[str, ...]
    at: float
    task_id: str
    sandbox: str = ""  # where to look at it
    was_stopped: bool = False  # by us
    is_reported: bool = False  # by its runner, with its last lines

    @property
    def reason_and_place(self) -> str:
        """The position after what happened, and before the words about it."""
        where = f" on {self.hostname}" if self.hostname else ""
        found = _WITH_REMARK.fullmatch(self.reason)
        return f"{found[1]}{where}{found[2]}" if found else f"{self.reason}{where}"


class Outcome(Record):
    """How a run ended. ``error`` is None after a success; ``cause`` is the first failure."""

    error: TFMesosError | None = None
    cause: Ending | None = None
    others: tuple[Ending, ...] = ()  # those that failed after the cause
    unstopped: tuple[str, ...] = ()  # tasks that were still running when we stopped waiting
    times: tuple[tuple[str, float], ...] = ()  # what took how many seconds, in order
    restarted: tuple[Ending, ...] = ()  # ends that were followed by a restart

    @classmethod
    def of_failure(cls, cause: Ending) -> Outcome:
        error = TaskFailed(cause.task.name, cause.reason_and_place, cause.code or 1)
        return cls(error=error, cause=cause)

    def __repr__(self) -> str:
        how = "succeeded" if self.error is None else f"failed: {self.error}"
        return f"<Outcome: {how} (exit code {self.exit_code})>"

    @property
    def ok(self) -> bool:
        """Whether the run succeeded."""
        return self.error is None

    @property
    def exit_code(self) -> int:
        """The exit code of ``tfrun``."""
        return 0 if self.error is None else self.error.exit_code
