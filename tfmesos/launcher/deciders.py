"""Joins the lifecycle of a run and its engine: passes what one returns for the other."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..config.job import Job
from ..config.launch_config import LaunchConfig
from ..core.actions import Mark, Request
from ..core.events import Event, Ticked
from ..core.lifecycle import Lifecycle
from ..core.rules import Rules
from ..engines.api import Decider, EngineDecider
from ..engines.plugins import plugin_of
from ..record import Record

if TYPE_CHECKING:
    from .local_chief import LocalChief


class Beginning(Record):
    """All that the deciders know at the beginning; with the events, it describes a whole run."""

    run_id: str
    at: float
    jobs: tuple[Job, ...]
    rules: Rules
    seed: int  # of all random numbers
    kind: str  # of the engine
    engine_rules: tuple[tuple[str, Any], ...] = ()  # the options of its decider

    @classmethod
    def of(
        cls, config: LaunchConfig, run_id: str, now: float, chief: LocalChief | None, seed: int
    ) -> Beginning:
        rules = Rules(
            start_timeout=config.start_timeout,
            run_timeout=config.run_timeout,
            checkpoint_before=config.checkpoint_before,
            elastic_hold=config.elastic_hold,
            grow_every=config.grow_every,
            success=config.success,
            restarts=config.restarts,
            hang_timeout=config.hang_timeout,
            hang_of_any=config.hang_of_any,
            evaluator_grace=config.evaluator_grace,
            tensorboard_stays=config.tensorboard_stays,
            stop_grace=config.kill_grace,
            has_finalizer=config.finalizer is not None,
            nodes_alike=config.engine.is_here or config.all_in_images,
            local=None if chief is None else (chief.task, chief.task_id, chief.address),
        )
        kind = config.engine.name
        engine_rules = tuple(plugin_of(kind).rules(config).items())
        return cls(run_id, now, config.jobs, rules, seed, kind, engine_rules)

    def lifecycle(self) -> Lifecycle:
        tasks = tuple(task for job in self.jobs for task in job.tasks)
        return Lifecycle(tasks, self.run_id, self.at, self.rules)

    def engine(self) -> EngineDecider:
        jitter = random.Random(self.seed).random
        return plugin_of(self.kind).new_decider(jitter, dict(self.engine_rules))


class Deciders:
    """Itself a decider, whose actions are for the shell.

    *overhear* gets what the engine tells the lifecycle, and the marks of the lifecycle.
    """

    def __init__(
        self,
        lifecycle: Decider,
        engine: EngineDecider,
        overhear: Callable[[Event | Mark, float], object] = lambda event, now: None,
    ) -> None:
        self._lifecycle = lifecycle
        self._engine = engine
        self.overhear = overhear

    @property
    def deadline(self) -> float | None:
        times = (self._lifecycle.deadline, self._engine.deadline)
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: Any, now: float) -> list[Any]:
        if isinstance(event, Ticked):
            both = (self._engine, self._lifecycle)
            return [todo for one in both for todo in self._pass_on(one.handle(event, now), now)]
        if not isinstance(event, Event):
            return list(self._pass_on(self._engine.handle(event, now), now))
        todo = self._heard_by_engine(event, now) if isinstance(event, self._engine.hears) else []
        return [*todo, *self._pass_on(self._lifecycle.handle(event, now), now)]

    def _heard_by_engine(self, event: Event, now: float) -> list[Any]:
        """Called before the lifecycle handles it: the engine may learn a place only from it."""
        return list(self._pass_on(self._engine.handle(event, now), now))

    def _pass_on(self, outputs: Iterable[Any], now: float) -> Iterable[Any]:
        """Pass on what one returns for the other, and return the rest."""
        for output in outputs:
            if isinstance(output, Event | Mark):
                self.overhear(output, now)
            if isinstance(output, Event | Request):
                yield from self.handle(output, now)
            else:
                yield output
