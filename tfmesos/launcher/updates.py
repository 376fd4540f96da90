"""Checks an update of a run like a new run."""

from __future__ import annotations

from ..config.changes import Changes, changed_jobs, difference, readdressed
from ..config.job import Job
from ..config.launch_config import LaunchConfig
from ..core.events import UpdateRequested
from ..core.lifecycle import Lifecycle
from ..core.success import deciding
from ..engines.plugins import plugin_of
from ..errors import SpecError, TFMesosError

_WAYS = ("back", "rolling")  # how it is changed, not what
_ROLLING = "--rolling (rolling=True) starts each task again at its address"


class NotUpdated(TFMesosError):
    """The update was refused; the run continues unchanged."""

    exit_code = 2


def resolved(
    config: LaunchConfig, changes: Changes, lifecycle: Lifecycle
) -> tuple[LaunchConfig, UpdateRequested | None]:
    """The new settings of the run, and the event that requests them: None if nothing would change.

    Raises NotUpdated, or SpecError if something is wrong with them.
    """
    generations = lifecycle.generations
    is_back, is_rolling = (bool(changes.get(way)) for way in _WAYS)
    problem = generations.why_not_update(lifecycle.phase, is_back=is_back, is_rolling=is_rolling)
    if problem:
        raise NotUpdated(problem)
    new = _updated(config, changes, generations.earlier, is_rolling)
    old = config.in_generation(config.generation, generations.latest) if is_back else config
    if is_rolling:
        _check_addresses(old, new)
    found = difference(old, new, {} if is_rolling else lifecycle.members.by_job())
    return new, UpdateRequested(new.jobs, found, is_rolling) if found else None


def _updated(
    config: LaunchConfig, changes: Changes, earlier: tuple[Job, ...], is_rolling: bool
) -> LaunchConfig:
    if config.local_chief:
        raise NotUpdated("it has a task in the terminal of its launcher, which is not restarted")
    jobs = _undone(changes, earlier) if changes.get("back") else changed_jobs(config, changes)
    new = config.in_generation(config.generation + (not is_rolling), jobs)
    if not deciding(new.tasks, new.success):
        raise SpecError(None, "jobs", "leave no task that ends the run")
    plugin_of(new.engine.name).check(new)
    return new


def _undone(changes: Changes, earlier: tuple[Job, ...]) -> tuple[Job, ...]:
    if any(value for key, value in changes.items() if key not in _WAYS):
        raise NotUpdated("--back undoes the last update: give no other changes with it")
    if not earlier:
        raise NotUpdated("there is no update to undo")
    return earlier


def _check_addresses(old: LaunchConfig, new: LaunchConfig) -> None:
    """NotUpdated if a restarted task would have another address."""
    problem = readdressed(old, new) or plugin_of(new.engine.name).why_readdressed(old, new)
    if problem:
        raise NotUpdated(f"{_ROLLING}, and {problem}: update without it")
