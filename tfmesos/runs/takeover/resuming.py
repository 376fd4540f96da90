"""The record of a lost run, continued by another launcher."""

from __future__ import annotations

import json
import os
import time
from typing import Any

from ...config.launch_config import LaunchConfig
from ...launcher.past import CannotTakeOver, Past
from ...launcher.screen.console import Console
from ..event_json import to_json
from ..launcher_process import this_process
from ..output_files import OutputFiles
from ..recorded_run import Recording
from ..recorder import Recorder
from ..run_directories import Store, runs_root
from ..run_files import RunDirectory
from . import taken_messages
from .hold import Hold
from .keys_file import Kept, keep, known_keys
from .lost_runs import check_lost
from .record_reader import past_of
from .taken_messages import Taken


class Resumed(Recording):
    """Raises CannotTakeOver or Held; then nothing of the run was changed."""

    def __init__(self, run: RunDirectory, config: LaunchConfig, console: Console) -> None:
        self.id = run.id
        self.config = config
        self._config = config
        self._began = time.monotonic()
        self._metrics = None
        self._console = console
        self._store = Store(runs_root(os.environ))
        self._outcome = None
        self._files = None
        self._run = None
        self._recorder = None
        self._brings = bool(config.bring)
        self._hold = Hold(run)
        try:
            check_lost(run)
            # of the last one that held it, perhaps a moment ago
            kept, before, self.past = _left_by_last(run)
        except BaseException:
            self._hold.release()
            raise
        self.keys = keep(run, config, kept.epoch + 1, kept)
        if run.launcher.is_alive is False:
            self.keys.ended(kept.epoch)
        recorder = Recorder(run, _about(run), self._warn, confirms=True, before=before)
        self._recorder = self._listen_to_screen(recorder)
        if config.metrics_file:
            self._metrics = self._open_metrics(config.metrics_file)
        if config.output_dir:
            complain = lambda text: console.say(text, "warning")  # noqa: E731
            self._files = OutputFiles(config.output_dir, complain, goes_on=True)


def check_record(run: RunDirectory) -> None:
    """Raises CannotTakeOver if another launcher cannot continue what is recorded so far."""
    *_, past = _left_by_last(run)
    past.check()


def _left_by_last(run: RunDirectory) -> tuple[Kept, list[Taken], Past]:
    try:
        kept = known_keys(run)
        before = taken_messages.read(run.taken_file)
        return kept, before, past_of(run, before)
    except ValueError as error:
        raise CannotTakeOver(f"run {run.id} cannot be taken over: {error}") from None


def _about(run: RunDirectory) -> Any:
    """The recorded settings of the run, with this launcher."""
    found = json.loads(run.about_file.read_bytes())
    launchers = int(found.get("launchers", 1)) + 1
    return {**found, "launcher": to_json(this_process()), "launchers": launchers}
