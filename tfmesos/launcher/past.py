"""Replays the record of earlier launchers of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..core.actions import Mark
from ..core.events import Event
from ..errors import SpecError, TFMesosError
from ..record import Record
from ..sanitize import plain
from .deciders import Beginning, Deciders
from .keys import Keys

Told = Event | Mark
# What a value raises that is not what a launcher wrote, wherever it is used.
UNFIT = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RecursionError,
    SpecError,
    TypeError,
    ValueError,
)


class CannotTakeOver(TFMesosError):
    """The run cannot continue here."""

    exit_code = 75  # EX_TEMPFAIL

    @classmethod
    def because(cls, error: TFMesosError) -> CannotTakeOver:
        refusal = cls(f"the run cannot be taken over: {error}")
        refusal.exit_code = error.exit_code
        return error if isinstance(error, cls) else refusal

    @classmethod
    def for_want_of(cls, task_id: str) -> CannotTakeOver:
        return cls(
            f"the run cannot be taken over: the end of its record is missing: {task_id} has more"
        )


class GivenAway(TFMesosError):
    """Another launcher holds the run, or may take it: this one ends, the tasks continue."""

    exit_code = 75

    def __init__(self, why: str, exit_code: int = 75) -> None:
        super().__init__(why)
        self.exit_code = exit_code


class Succession(NamedTuple):
    """What a launcher hands over to the next one, and what it has received."""

    keys: Keys
    past: Past | None


class Past(Record):
    beginning: Beginning
    steps: tuple[tuple[Any, float], ...]  # each event, and when it came
    told: tuple[Told, ...]  # what the deciders told each other, as far as it is recorded
    received: Mapping[str, tuple[int, bool]]  # of each runner: messages, and whether that is all
    beat: float  # the last moment on the clock of the run
    away: float  # seconds since then

    @property
    def last(self) -> float:
        """The last known moment, on the clock of the run."""
        return max(self.steps[-1][1] if self.steps else self.beginning.at, self.beat)

    def decide_again(
        self, deciders: Deciders, step: Callable[[Any, Sequence[Any]], object]
    ) -> list[tuple[Told, float]]:
        """Bring *deciders* to the present; *step* gets each event and its actions.

        Returns what they exchanged after the last such entry of the record. Raises CannotTakeOver
        if anything differs from the record.
        """
        told: list[tuple[Told, float]] = []
        deciders.overhear = lambda event, now: told.append((event, now))
        try:
            for event, now in self.steps:
                step(event, deciders.handle(event, now))
        except UNFIT as error:
            problem = plain(repr(error))
            raise CannotTakeOver(f"its record cannot be replayed: {problem}") from error
        self._compare([event for event, _ in told])
        return told[len(self.told) :]

    def check(self) -> None:
        """Raises CannotTakeOver if the record does not lead to the present."""
        deciders = Deciders(self.beginning.lifecycle(), self.beginning.engine())
        self.decide_again(deciders, lambda event, actions: None)

    def _compare(self, told: Sequence[Told]) -> None:
        for number, recorded in enumerate(self.told):
            if number >= len(told) or repr(told[number]) != repr(recorded):
                raise CannotTakeOver(f"its record is inconsistent, at {recorded}")
