"""What a task with a command runs: its initializer, the command and its finalizer.

The runner runs them on a node, the launcher for ``--local-chief``. Nothing here does I/O.
"""

from __future__ import annotations

from ...shared import task_variables as command
from ...shared.stdlib import signal
from .. import own_modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...shared.process import Ending
    from ...shared.wire import Message

STOPPED = 128 + signal.SIGTERM  # the exit code of a task that was stopped before its command
NAMES = ("initializer", "command", "finalizer")


class Steps:
    """Says which step comes next, learns how it ended, and knows how the task ended."""

    def __init__(self, start: Message, job: str, index: int) -> None:
        """*start* is the message of that name."""
        self._start = start
        self._task = (start["cluster"], job, index)
        self._values = command.placeholders(*self._task)
        self._waiting = [name for name in NAMES if start.get(name)]
        self.ending: Ending | None = None  # of the task

    def next(self, stop_grace: float | None) -> str:
        """The name of the step to run now, empty after the last one.

        *stop_grace* is how many seconds a task that must stop has; None for all others.
        """
        while self._waiting:
            name = self._waiting.pop(0)
            if name == "finalizer":  # runs whatever came before
                return "" if stop_grace == 0 else name
            if self.ending is None and stop_grace is None:
                return name
            self.ending = self.ending or (STOPPED, "was stopped before its command")
        return ""

    def ended(self, name: str, ending: Ending) -> None:
        code, reason = ending
        if name == "command":
            self.ending = ending
        elif name == "initializer" and code:
            self.ending = code, f"failed: its initializer {reason}"

    def argv(self, name: str) -> list[str]:
        return own_modules.with_text(command.argv(self._start[name], self._values))

    def filled(self, text: str) -> str:
        """*text* with its placeholders filled in, as in a command."""
        return command.substitute(text, self._values)

    def environment(
        self, before: Mapping[str, str], mark: Mapping[str, str | None]
    ) -> dict[str, str]:
        """The environment of steps: the launcher's on top of *before*, and the task's *mark*."""
        given = command.environment(
            *self._task,
            starts=self._start.get("starts") or {},
            always=self._start.get("tf_config") == "always",
        )
        inherited, of_user = self._start.get("env") or {}, self._start.get("user_env") or {}
        return command.merged(before, inherited, given, of_user, mark)
