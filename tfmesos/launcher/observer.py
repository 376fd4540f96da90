"""Observers of a run, which never change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..core.actions import Mark
from ..core.events import Event
from ..record import Record
from .deciders import Beginning
from .links.usage import Usage


class Counted(Record):
    """A message of a runner: how many it has sent by then, and whether this is its last."""

    task_id: str
    number: int
    is_last: bool = False


Confirm = Callable[[Mapping[str, int]], None]  # this many messages of these tasks are recorded


class Observer:
    """An observer that ignores everything. None of its methods may wait or raise."""

    wants_progress = False  # if not, the runners need not report it
    confirms = False  # does it record all messages, and confirm that, before they are acknowledged?

    def confirm_to(self, confirm: Confirm) -> None:
        """Sets whom to call, from any thread, with each confirmation."""

    def begun(self, beginning: Beginning) -> None:
        """The deciders start from this."""

    def happened(self, event: Any, now: float) -> None:
        """The deciders receive this event."""

    def secure(self) -> None:
        """The deciders are about to act on what has happened: store what must be kept."""

    def told(self, event: Event | Mark, now: float) -> None:
        """The events from the engine to the lifecycle, and the marks of the lifecycle."""

    def written(
        self, task: str, stream: str, text: str, dropped: int, counted: Counted | None = None
    ) -> None:
        """Whole lines of a task, before which *dropped* others were left out.

        They came in the message *counted*, unless that is None.
        """

    def counted(self, counted: Counted) -> None:
        """A message of a runner other than output; its effects have been reported."""

    def measured(self, task: str, usage: Usage) -> None:
        """The usage of a task, every few seconds."""

    def progressed(self, task: str, line: str) -> None:
        """The state of a line that the task rewrites: a progress bar; empty when it has ended."""


class Observers(Observer):
    """Several observers, called in turn."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self.wants_progress = any(one.wants_progress for one in observers)
        self.confirms = any(one.confirms for one in observers)

    def confirm_to(self, confirm: Confirm) -> None:
        for one in self._observers:
            one.confirm_to(confirm)

    def begun(self, beginning: Beginning) -> None:
        for one in self._observers:
            one.begun(beginning)

    def happened(self, event: Any, now: float) -> None:
        for one in self._observers:
            one.happened(event, now)

    def secure(self) -> None:
        for one in self._observers:
            one.secure()

    def told(self, event: Event | Mark, now: float) -> None:
        for one in self._observers:
            one.told(event, now)

    def written(
        self, task: str, stream: str, text: str, dropped: int, counted: Counted | None = None
    ) -> None:
        for one in self._observers:
            one.written(task, stream, text, dropped, counted)

    def counted(self, counted: Counted) -> None:
        for one in self._observers:
            one.counted(counted)

    def measured(self, task: str, usage: Usage) -> None:
        for one in self._observers:
            one.measured(task, usage)

    def progressed(self, task: str, line: str) -> None:
        for one in self._observers:
            one.progressed(task, line)
