"""An update of a run: what the owner wants changed, checked like a new run."""

from __future__ import annotations

from collections.abc import Mapping

from ..config.changes import Changes, changed_jobs, difference
from ..config.launch_config import LaunchConfig
from ..core.events import UpdateRequested
from ..core.success import deciding
from ..errors import SpecError, TFMesosError
from .engine_choice import check
from .links.messages import check_room


class NotUpdated(TFMesosError):
    """The run goes on as it was."""

    exit_code = 2


def updated(config: LaunchConfig, changes: Changes) -> LaunchConfig:
    """The settings of the next generation. SpecError if something is wrong with them."""
    if config.local_chief:
        raise NotUpdated("it has a task in the terminal of its launcher, which is not restarted")
    new = config.in_generation(config.generation + 1, changed_jobs(config, changes))
    if not deciding(new.tasks, new.success):
        raise SpecError(None, "jobs", "leave no task whose end is the end of the run")
    check_room(new)
    check(new)
    return new


def request(
    config: LaunchConfig, new: LaunchConfig, present: Mapping[str, int]
) -> UpdateRequested | None:
    """What the run is told; None if nothing would change. *present* counts the tasks by job."""
    found = difference(config, new, present)
    return UpdateRequested(new.jobs, found) if found else None
