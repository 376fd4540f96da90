"""An update of a run: what the owner wants changed, checked like a new run."""

from __future__ import annotations

from collections.abc import Mapping

from ..config.changes import Changes, changed_jobs, difference
from ..config.job import Job
from ..config.launch_config import LaunchConfig
from ..core.events import UpdateRequested
from ..core.success import deciding
from ..engines.plugins import plugin_of
from ..errors import SpecError, TFMesosError
from .links.messages import check_room


class NotUpdated(TFMesosError):
    """The run goes on as it was."""

    exit_code = 2


def updated(config: LaunchConfig, changes: Changes, previous: tuple[Job, ...] = ()) -> LaunchConfig:
    """The settings of the next generation. SpecError if something is wrong with them.

    *previous* are the jobs that the last update has changed.
    """
    if config.local_chief:
        raise NotUpdated("it has a task in the terminal of its launcher, which is not restarted")
    jobs = _undone(changes, previous) if changes.get("back") else changed_jobs(config, changes)
    new = config.in_generation(config.generation + 1, jobs)
    if not deciding(new.tasks, new.success):
        raise SpecError(None, "jobs", "leave no task whose end is the end of the run")
    check_room(new)
    plugin_of(new.engine.name).check(new)
    return new


def _undone(changes: Changes, previous: tuple[Job, ...]) -> tuple[Job, ...]:
    if any(value for key, value in changes.items() if key != "back"):
        raise NotUpdated("--back undoes the last update: give no other changes with it")
    if not previous:
        raise NotUpdated("there is nothing to go back to: it has not been updated")
    return previous


def request(
    config: LaunchConfig, new: LaunchConfig, present: Mapping[str, int]
) -> UpdateRequested | None:
    """What the run is told; None if nothing would change. *present* counts the tasks by job."""
    found = difference(config, new, present)
    return UpdateRequested(new.jobs, found) if found else None
