"""What runners report, as events: their tasks' addresses, output, silence and ends."""

from __future__ import annotations

from ...core.events import TaskExited, TaskFellSilent, TaskHeld, TaskReady, TaskRegistered
from ...shared import wire
from ...shared.address import join_address
from .collected_files import KINDS
from .exchange import Sinks
from .report_fields import address, directory, ending, lines, node
from .runner_link import RunnerLink
from .task_ports import TaskPorts
from .usage import usage_of


class RunnerReports:
    """A task counts as silent after *silent_after* seconds without output."""

    def __init__(
        self, sinks: Sinks, silent_after: float, dismisses: bool, ports: TaskPorts
    ) -> None:
        self._sinks = sinks
        self._ports = ports
        self._emit = sinks.emit
        self._silent_after = silent_after
        self.dismisses = dismisses
        self._taking = 0  # tasks whose output waits to be shown
        self._taken = self._seen = 0  # messages of all tasks; those when somebody looked last

    @property
    def is_showing(self) -> bool:
        """Is output waiting to be shown?"""
        return self._taking > 0

    @property
    def is_busy(self) -> bool:
        """Is output waiting to be shown, or has anything arrived since the last call?"""
        seen = self._seen
        self._seen = self._taken
        return self.is_showing or seen != self._seen

    async def take(self, link: RunnerLink, message: wire.Message) -> None:
        kind = str(message.get("type"))
        is_numbered = kind in wire.NUMBERED
        is_new = link.take_in(kind, numbered=is_numbered)
        self._taken += is_numbered
        if is_new:
            await self._act_on(link, kind, message)
        link.told(kind)
        if is_numbered and kind != "output":
            self._sinks.counted(link.task_id, link.received, link.exited)

    async def _act_on(self, link: RunnerLink, kind: str, message: wire.Message) -> None:
        if kind == "register":
            host, port = address(message)
            shown_at = self._ports.open(link, port) if link.is_private else ""
            self._emit(
                TaskRegistered(
                    link.task_id,
                    join_address(host, port),
                    port,
                    directory(message),
                    node(message),
                    shown_at,
                )
            )
        elif kind == "ready":
            self._emit(TaskReady(link.task_id))
        elif kind == "heartbeat":
            self._note_silence(link, wire.count(message, "silent"))
            if usage := usage_of(message):
                self._sinks.measured(link.task_id, usage)
        elif kind == "progress":
            self._sinks.progressed(link.task_id, wire.field(message, "text", str))
        elif kind == "output":
            await self._show(link, message)
        elif kind in KINDS:
            await self._sinks.collected.take(link.task_id, message)
        elif kind == "held":
            self._emit(TaskHeld(link.task_id, wire.field(message, "reason", str)))
        elif kind == "exit":
            self._exited(link, message)
        elif kind == "superseded":
            self._sinks.superseded(wire.field(message, "holder", str))

    async def _show(self, link: RunnerLink, message: wire.Message) -> None:
        stream, text = wire.field(message, "stream", str), wire.field(message, "text", str)
        dropped = wire.count(message, "dropped")
        link.tail.add(text)
        self._taking += 1
        try:
            await self._sinks.output(link.task_id, stream, text, dropped, link.received)
        finally:
            self._taking -= 1

    def _note_silence(self, link: RunnerLink, seconds: int) -> None:
        """Report a task that falls silent, and one that writes again; each once."""
        is_silent = seconds >= self._silent_after
        if link.has_changed_silence(is_silent):
            self._emit(TaskFellSilent(link.task_id, seconds if is_silent else 0.0))

    def _exited(self, link: RunnerLink, message: wire.Message) -> None:
        code, reason = ending(message)
        link.told("exit")
        if self.dismisses:
            link.dismiss()
        tail = tuple(lines(message, "tail"))
        was_stopped = message.get("stopped") is True
        self._emit(TaskExited(link.task_id, code, reason, tail, was_stopped, node(message)))
