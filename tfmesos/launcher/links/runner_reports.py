"""What runners report, as events: their tasks' addresses, output, silence and ends."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ...core.events import Event, TaskExited, TaskFellSilent, TaskReady, TaskRegistered
from ...node import wire
from ...node.address import join_address
from . import brought
from .report_fields import address, ending, lines
from .runner_link import RunnerLink
from .usage import Usage, usage_of

# Gets (task id, stream, whole lines, number of lines dropped before them); the runner is read
# no further until it returns.
Output = Callable[[str, str, str, int], Awaitable[None]]
Progressed = Callable[[str, str], object]  # gets (task id, a progress bar as it looks now)
Measured = Callable[[str, Usage], object]  # gets (task id, what it uses), must not wait


class RunnerReports:
    """A task counts as silent after *silent_after* seconds without output."""

    def __init__(
        self,
        emit: Callable[[Event], None],
        output: Output,
        measured: Measured,
        progressed: Progressed,
        silent_after: float,
        dismisses: bool,
        files: brought.Brought,
    ) -> None:
        self._emit, self._output, self._silent_after = emit, output, silent_after
        self._measured, self._progressed = measured, progressed
        self._dismisses, self._files = dismisses, files
        self._taking = 0  # tasks whose output waits to be shown
        self._taken = self._seen = 0  # messages of all tasks; those when somebody looked last

    @property
    def is_busy(self) -> bool:
        """Does output wait to be shown, or has anything been taken since this was asked last?"""
        seen, self._seen = self._seen, self._taken
        return self._taking > 0 or seen != self._seen

    async def take(self, link: RunnerLink, message: wire.Message) -> None:
        kind = message.get("type")
        link.first_secret = None  # it has the other one, or it could not have said anything
        if kind in wire.NUMBERED:
            link.received += 1
            self._taken += 1
            link.has_begun = link.has_begun or kind != "register"
        if kind == "register":
            host, port = address(message)
            self._emit(TaskRegistered(link.task_id, join_address(host, port), port))
        elif kind == "ready":
            self._emit(TaskReady(link.task_id))
        elif kind == "heartbeat":
            self._note_silence(link, wire.count(message, "silent"))
            if usage := usage_of(message):
                self._measured(link.task_id, usage)
        elif kind == "progress":
            self._progressed(link.task_id, wire.field(message, "text", str))
        elif kind == "output":
            await self._show(link.task_id, message)
        elif kind in brought.KINDS:
            await self._files.take(link.task_id, message)
        elif kind == "exit":
            self._exited(link, message)

    async def _show(self, task_id: str, message: wire.Message) -> None:
        stream, text = wire.field(message, "stream", str), wire.field(message, "text", str)
        dropped = wire.count(message, "dropped")
        self._taking += 1
        try:
            await self._output(task_id, stream, text, dropped)
        finally:
            self._taking -= 1

    def _note_silence(self, link: RunnerLink, seconds: int) -> None:
        """Tell of a task that falls silent, and of one that speaks again; each once."""
        is_silent = seconds >= self._silent_after
        if is_silent != link.is_silent:
            link.is_silent = is_silent
            self._emit(TaskFellSilent(link.task_id, seconds if is_silent else 0.0))

    def _exited(self, link: RunnerLink, message: wire.Message) -> None:
        code, reason = ending(message)
        link.exited = True
        if self._dismisses:
            link.dismiss()
        tail, was_stopped = (
            tuple(lines(message, "tail")),
            message.get("stopped") is True,
        )
        self._emit(TaskExited(link.task_id, code, reason, tail, was_stopped))
