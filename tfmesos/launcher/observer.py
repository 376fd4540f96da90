"""Who looks on while a run goes on, and changes nothing of it."""

from __future__ import annotations

from typing import Any

from ..core.actions import BeginGeneration
from ..core.events import Event
from .deciders import Beginning
from .links.usage import Usage


class Observer:
    """This one looks away. None of its methods may wait or raise."""

    wants_progress = False  # if not, the runners need not tell it

    def begun(self, beginning: Beginning) -> None:
        """What the deciders start from."""

    def happened(self, event: Any, now: float) -> None:
        """What they are told, as it comes in."""

    def told(self, event: Event | BeginGeneration, now: float) -> None:
        """What the engine tells the lifecycle, and which generations begin."""

    def written(self, task: str, stream: str, text: str, dropped: int) -> None:
        """Whole lines of a task, before which *dropped* others were left out."""

    def measured(self, task: str, usage: Usage) -> None:
        """What it uses, every few seconds."""

    def progressed(self, task: str, line: str) -> None:
        """How a line looks that the task rewrites: a progress bar; empty when it has ended."""


class Observers(Observer):
    """Several who look on, told one after another."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers
        self.wants_progress = any(one.wants_progress for one in observers)

    def begun(self, beginning: Beginning) -> None:
        for one in self._observers:
            one.begun(beginning)

    def happened(self, event: Any, now: float) -> None:
        for one in self._observers:
            one.happened(event, now)

    def told(self, event: Event | BeginGeneration, now: float) -> None:
        for one in self._observers:
            one.told(event, now)

    def written(self, task: str, stream: str, text: str, dropped: int) -> None:
        for one in self._observers:
            one.written(task, stream, text, dropped)

    def measured(self, task: str, usage: Usage) -> None:
        for one in self._observers:
            one.measured(task, usage)

    def progressed(self, task: str, line: str) -> None:
        for one in self._observers:
            one.progressed(task, line)
