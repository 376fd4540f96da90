"""Takes over a run whose launcher is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

from ..config.launch_config import LaunchConfig
from ..errors import SpecError, TFMesosError
from ..launcher.keys import Keys
from ..launcher.past import CannotTakeOver
from ..launcher.screen.console import Console
from ..runs.detaching import Handover
from ..runs.recorded_run import Recording
from ..runs.recorder import write_end
from ..runs.run_directories import Store, runs_root
from ..runs.run_files import RunDirectory
from ..runs.takeover import keys_file
from ..runs.takeover.hold import Hold, holder_of
from ..runs.takeover.keys_file import Kept
from ..runs.takeover.lost_runs import adoptable_until, check_lost, end_stopped, is_gone
from ..runs.takeover.resuming import Resumed, check_record
from .arguments import in_flags, parse
from .flag_inputs import inputs_of
from .launching import launch

LOOK_EVERY = 1.0  # seconds


def take_over(run: RunDirectory, *, level: str, handover: Handover | None = None) -> int:
    """Continue *run*, and return its exit code. Raises CannotTakeOver, or Held."""
    check_lost(run)
    config = with_credentials(run, keys_file.known_keys(run))
    if run.launcher.is_stopped:
        check_record(run)
        end_stopped(run)

    def record(console: Console) -> Recording:
        return Resumed(run, config, console)

    return launch(record, level=level, handover=handover, is_left=handover is None)


def end_by_keys(run: RunDirectory) -> None:
    """Let the engine end the tasks of a lost run that cannot be replayed; its keys are enough."""
    from ..launcher.abandoned_run import end_tasks  # is hardly ever needed

    hold = Hold(run)
    try:
        kept = keys_file.read(run)
        if kept is None:
            raise CannotTakeOver(f"run {run.id} cannot be ended: its keys cannot be read")
        config = with_credentials(run, kept)
        keys = Keys(kept.values, kept.epoch + 1)
        if run.launcher.is_alive is False:
            keys.ended(kept.epoch)
        end_tasks(config, f"tfmesos-{run.id}", keys)
        write_end(run, time.time())
    finally:
        hold.release()


def with_credentials(run: RunDirectory, kept: Kept) -> LaunchConfig:
    """The settings of the run; those that are not kept are read again."""
    config = kept.config
    if not kept.has_credentials and not config.secrets.given_by:
        return config
    try:
        again = _again(run)
    except TFMesosError as error:
        why = in_flags(error) if isinstance(error, SpecError) else str(error)
        if kept.has_credentials:
            problem = f"its credentials cannot be read again: {why}"
            raise CannotTakeOver(f"run {run.id} cannot be taken over: {problem}") from None
        return config.replace(secrets=config.secrets.replace(missing=why))
    return config.replace(access=again.access, secrets=again.secrets)


def _again(run: RunDirectory) -> LaunchConfig:
    """What the same command line means today."""
    arguments = run.about.get("arguments")
    if not isinstance(arguments, list):
        raise CannotTakeOver("it was not started by tfrun")
    with suppress(OSError):
        os.chdir(str(run.about.get("cwd")))
    return inputs_of(parse(arguments)).config()


def await_lost(name: str, say: Callable[[str], object]) -> RunDirectory | None:
    """The lost run of this name, once nobody else holds it; None if there is none."""
    store = Store(runs_root(os.environ))
    is_said = False
    while True:
        alike = [run for run in store.all() if run.about.get("name") == name]
        held = [run for run in alike if run.outcome is None and not is_gone(run)]
        if not held:
            return next((run for run in alike if adoptable_until(run) is not None), None)
        if not is_said:
            say(f"waiting for {holder_of(held[0])}, which holds run {held[0].id}")
        is_said = True
        time.sleep(LOOK_EVERY)
