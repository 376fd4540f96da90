"""The record of a run, from before it begins until it has ended in any way."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from functools import partial
from math import inf
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ..config.launch_config import LaunchConfig
from ..core.outcome import Outcome
from ..errors import CannotWrite, Interrupted, SpecError, TFMesosError
from ..json_types import Json
from ..launcher.keys import Keys
from ..launcher.observer import Observer, Observers
from ..launcher.past import CannotTakeOver, GivenAway, Past
from ..launcher.run import Run
from ..launcher.screen.console import Console
from ..launcher.screen.failure_report import failure_report
from .about import about
from .control import Command, Control
from .prune import prune_when_due
from .recorder import Recorder
from .run_directories import Store, Unsafe, expects_records, runs_root
from .takeover.hold import Hold
from .takeover.keys_file import keep, leave

if TYPE_CHECKING:
    from .metrics_file import MetricsFile
    from .output_files import OutputFiles

_ID_CHARACTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # 32, none that looks like another


def new_id() -> str:
    return "".join(_ID_CHARACTERS[byte % len(_ID_CHARACTERS)] for byte in os.urandom(4))


class NotRecorded(TFMesosError):
    exit_code = 74  # EX_IOERR


class Recording:
    """``observer`` and ``id`` are for the run.

    A run that cannot be recorded continues without a record.
    """

    def __init__(
        self,
        config: LaunchConfig,
        argv: Sequence[str],
        console: Console,
        arguments: Sequence[str] | None = None,
        *,
        shown: Sequence[str] | None = None,
        needed_by: str = "",
    ) -> None:
        """*arguments* are those with which tfrun can start such a run again.

        *shown* is the part of *argv* that the list of runs shows; *needed_by* is the flag that
        requires a record.
        """
        self.id = new_id()
        self._config = config
        self._began = time.monotonic()
        self._console = console
        self._store = Store(runs_root(os.environ))
        self._outcome: Outcome | None = None
        self._files = self._open_files(config.output_dir) if config.output_dir else None
        self._brings = bool(config.bring)
        self._recorder: Recorder | None = None
        self._hold: Hold | None = None
        self._run: Run | None = None  # once it can be controlled
        self.config = config
        self.keys: Keys | None = None
        self.past: Past | None = None
        if config.record:
            try:
                self._check_root(needed_by)
                begins = about("", config, argv, arguments, os.getcwd(), time.time(), shown)
                self._recorder = self._open(begins, config)
            except OSError as error:
                where = error.filename or self._store.root
                bring = console.named("bring") if config.bring else ""
                self._do_without(f"{where}: {error.strerror}", needed_by or bring)
        if self._hold is None:
            self.config = config.replace(survive=0.0)
        self._metrics = self._open_metrics(config.metrics_file) if config.metrics_file else None

    def _open(self, begins: Json, config: LaunchConfig) -> Recorder:
        directory = self._store.create(new_id)
        self.id = begins["id"] = directory.id
        if config.survive:
            self._hold = Hold(directory)
            self.keys = keep(directory, config)
        return self._listen_to_screen(
            Recorder(directory, begins, self._warn, confirms=bool(config.survive))
        )

    def _listen_to_screen(self, recorder: Recorder) -> Recorder:
        self._console.on_say = recorder.said
        self._console.recorded_as = self.id
        return recorder

    def _check_root(self, needed_by: str) -> None:
        """A record in an unsafe place will not be found; in a container that may not matter."""
        try:
            self._store.check_root()
        except Unsafe as error:
            if needed_by:
                self._do_without(str(error), needed_by)
            lost = f"no command will find the record of this run: {error}"
            self._console.say(f"{lost}, or set XDG_STATE_HOME to a directory of yours", "warning")

    def _do_without(self, why: str, needed_by: str) -> None:
        """Continue without a record, and say so; raise NotRecorded if something needs it."""
        if needed_by:
            way_out = "set XDG_STATE_HOME to a directory of yours"
            raise NotRecorded(f"{needed_by} needs the record of the run: {why}; {way_out}")
        level = "warning" if expects_records(os.environ) else "info"
        self._warn(f"the run is not recorded: {why}", level)

    def _open_files(self, directory: str) -> OutputFiles:
        from .output_files import OutputFiles  # most runs have none

        try:
            return OutputFiles(directory, self._complain)
        except OSError as error:
            raise self._cannot_write("output_dir", directory, error) from None

    def _open_metrics(self, path: str) -> MetricsFile:
        from .metrics_file import MetricsFile  # most runs have none

        try:
            return MetricsFile(path, self.id, self._complain)
        except OSError as error:
            if self._recorder is not None:
                self._recorder.discard()
            raise self._cannot_write("metrics_file", path, error) from None

    def _cannot_write(self, field: str, path: str, error: OSError) -> CannotWrite:
        return CannotWrite(f"{self._console.named(field)} {path}: {error.strerror}")

    def _complain(self, text: str) -> None:
        self._console.say(text, "warning")

    def _warn(self, text: str, level: str = "warning") -> None:
        self._console.on_say = lambda text: None
        self._console.say(text, level)

    @property
    def brought(self) -> Path | None:
        """The directory for files collected from tasks."""
        return self._recorder.directory.brought if self._recorder and self._brings else None

    @property
    def observer(self) -> Observer:
        everybody = (self._recorder, self._files, self._metrics)
        return Observers(*(one for one in everybody if one is not None))

    def control(self, run: Run) -> AbstractAsyncContextManager[object]:
        """Within its block, the owner can control *run* from elsewhere."""
        self._run = run
        if self._recorder is None:
            return nullcontext()
        if self._hold is not None:
            beating = self._hold.keep_beating(lambda: run.now, partial(self._woke_up, run))
            self._beats = asyncio.get_running_loop().create_task(beating)
        commands: dict[str, Command] = {
            "stop": partial(_stop, run),
            "restart": partial(_restart, run),
            "update": partial(_update, run),
            "inside": run.owner_requests.refusal_inside,
            "checkpoint": lambda _: run.owner_requests.checkpoint(),
            "continue": lambda _: run.owner_requests.continue_held(),
        }
        conversations = {"inside": run.owner_requests.serve_inside}
        return Control(self._recorder.directory, commands, self._warn, conversations)

    async def _woke_up(self, run: Run) -> None:
        """Another launcher may have taken the run while this process was stopped or suspended."""
        if self.keys is not None and (other := await self.keys.other_holder(run.id)):
            run.give_away(f"another launcher holds the run now: {other}")

    @property
    def _is_given_away(self) -> bool:
        """Does the run continue without us, or was it never ours?"""
        if self._outcome is None:  # an internal error
            return self.past is not None and not (self._run and self._run.has_left)
        return isinstance(self._outcome.error, GivenAway | CannotTakeOver)

    def ended(self, outcome: Outcome) -> None:
        self._outcome = outcome

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._files is not None:
            self._files.close()
        is_refused = isinstance(error, SpecError) and self.past is None  # nothing was started
        outcome = self._outcome or Outcome(error=_fault(error))
        if self._metrics is not None:
            self._metrics.close(outcome.exit_code)
        if self._recorder is not None:
            self._end_record(None if is_refused else outcome)
        if self._hold is not None:
            self._hold.release()
        if self._config.on_end and not is_refused and not self._is_given_away:
            self._tell_end(self._config.on_end, outcome)

    def _end_record(self, outcome: Outcome | None) -> None:
        """None: there was no run."""
        assert self._recorder is not None
        if outcome is None:
            self._recorder.discard()
            return
        if self._is_given_away:
            self._recorder.leave()
            if self.keys is not None:
                leave(self._recorder.directory, self.keys)
            return
        report = failure_report(outcome, self._console.named) if outcome.error else []
        self._recorder.end(outcome, report)
        self._recorder.directory.keys_file.unlink(missing_ok=True)
        self._recorder.directory.lock_file.unlink(missing_ok=True)
        with suppress(OSError, Unsafe):
            prune_when_due(self._store, time.time())

    def _tell_end(self, wanted: str, outcome: Outcome) -> None:
        from .on_end import do_on_end, facts_of  # most runs have no use for it

        seconds = time.monotonic() - self._began
        facts = facts_of(self.id, self._config.name, outcome, seconds)
        do_on_end(wanted, facts, self._complain)


def _stop(run: Run, request: Json) -> str:
    """A second request waits for the stop that the first one began, or shortens it."""
    grace = request.get("grace")
    if grace is not None and (not isinstance(grace, (int, float)) or not 0 < grace < inf):
        return f"the grace must be above 0, got {grace!r}"
    if not run.stop_requests.is_requested:
        run.request_stop("stopped by its owner", Interrupted.exit_code, grace)
    elif grace is not None:
        run.shorten_stop(grace)
    return ""


def _restart(run: Run, request: Json) -> str:
    elsewhere = request.get("elsewhere") is True
    return run.owner_requests.restart(str(request.get("task")), elsewhere)


async def _update(run: Run, request: Json) -> Json:
    """What changes; or what is wrong, and with which field, for which the other end has a flag."""
    changes = request.get("changes")
    if not isinstance(changes, dict):
        return {"problem": "the changes must be an object"}
    try:
        found = await run.owner_requests.update(changes, dry_run=request.get("dry_run") is True)
    except SpecError as error:
        where = {"job": error.job, "field": error.field, "text": error.problem}
        return {"problem": str(error), **where}
    except TFMesosError as error:
        return {"problem": str(error), "code": error.exit_code}
    return {"problem": "", "difference": list(found), "generation": run.config.generation}


def _fault(error: BaseException | None) -> TFMesosError:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    fault = TFMesosError(f"internal error: {type(error).__name__}: {error}")
    fault.exit_code = 70  # EX_SOFTWARE
    return fault
