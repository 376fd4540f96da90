"""Writes the run directory during a run."""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from ..core.actions import Mark
from ..core.events import Event
from ..core.outcome import Outcome
from ..errors import Interrupted
from ..json_types import Json
from ..launcher.deciders import Beginning
from ..launcher.links.usage import Usage
from ..launcher.observer import Confirm, Counted, Observer
from .about import write_commit
from .event_json import json_line, to_json
from .log_lines import left_out, lines_in, written_line
from .measurements import MeasurementLog, line_of
from .progress_bar_file import ProgressLog, bar_line
from .run_files import RunDirectory
from .takeover.taken_messages import Taken, TakenLog
from .task_log import Position, TaskLog, append
from .writer import Appendable, Marks, Writer

TASK_LIMIT = 64 * 1024 * 1024  # bytes of output that are kept of a task
RUN_LIMIT = 1024 * 1024 * 1024  # of all tasks together
EVENTS_LIMIT = 256 * 1024 * 1024
RESERVE = 64 * 1024  # bytes of disk space reserved for the last file
CLOSE_WITHIN = 10.0  # seconds for the disk to take what is left

SAID = "tfrun"  # the log of what the launcher said


class EventLog:
    """A file of JSON lines, limited in size."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = 0
        self.left_out = 0  # lines

    def append(self, data: bytes) -> None:
        self._size += len(data)
        if self._size <= EVENTS_LIMIT:
            append(self._path, data)
        else:
            self.left_out += data.count(b"\n")

    def cut_half_line(self) -> None:
        """Remove the incomplete last line of a launcher that was killed while writing."""
        with suppress(FileNotFoundError):
            content = self._path.read_bytes()
            self._size = content.rfind(b"\n") + 1
            if self._size < len(content):  # the time of the last event is worth keeping
                os.truncate(self._path, self._size)

    def close(self) -> None:
        if self.left_out:
            append(self._path, b'{"left_out": %d}\n' % self.left_out)


class Recorder(Observer):
    """An observer of a run, which also gets what was shown on the screen, and the outcome."""

    wants_progress = True

    def __init__(
        self,
        directory: RunDirectory,
        about: Json,
        complain: Callable[[str], object],
        wall: Callable[[], float] = time.time,
        *,
        confirms: bool = False,
        before: Sequence[Taken] | None = None,
    ) -> None:
        """If it *confirms*, events are recorded before anybody acts on them.

        *before* is what earlier launchers have recorded: their record is continued.
        """
        self.confirms = confirms
        self._confirm: Confirm = lambda numbers: None
        self.directory = directory
        self._complain = complain
        self._wall = wall
        self._limit = min(TASK_LIMIT, RUN_LIMIT // max(sum(about["jobs"].values()), 1))
        self._logs: dict[str, TaskLog] = {}
        self._left_out: dict[str, int] = {}  # lines, by task, that the disk did not take
        self._lost: Counter[Appendable] = Counter()  # lines that were to be written when it failed
        self._names: dict[str, str] = {}  # of tasks, by their ids
        self._events = EventLog(directory.events_file)
        self._unwritten: deque[bytes] = deque()  # events, if it confirms
        self._writes_events = threading.Lock()
        self._measurements = MeasurementLog(directory.measurements_file)
        self._progress = ProgressLog(directory.progress_file)
        directory.output.mkdir(mode=0o700, exist_ok=before is not None)
        if before is not None:
            self._go_on(before)
        self._taken = TakenLog(directory.taken_file, before or ())
        write_whole(directory.about_file, about, waits_for_disk=False)
        self._reserve = directory.path / ".reserve"
        self._reserve.unlink(missing_ok=True)
        append(self._reserve, bytes(RESERVE))
        self._problem = ""  # why nothing more is recorded
        is_first = before is None
        self._git = write_commit(about["cwd"], directory.commit_file) if is_first else None
        self._writer = Writer(self._failed, self._not_written, self._count)

    def _go_on(self, before: Sequence[Taken]) -> None:
        """Remove what will come again: everything after the last recorded message."""
        self._events.cut_half_line()
        self._names.update((taken.task_id, taken.log) for taken in before)
        positions = {taken.log: taken.position for taken in before if taken.position}
        for name in self.directory.logged():
            log = self._new_log(name)
            if name == SAID:
                log.go_on_at_end()
            else:
                log.go_on_at(positions.get(name, Position(0, 0, 0, 0)))

    def confirm_to(self, confirm: Confirm) -> None:
        self._confirm = confirm

    def counted(self, counted: Counted) -> None:
        if self.confirms:
            self._writer.count(counted)

    def _count(self, marks: Marks) -> None:
        """Called on the thread: the content of these messages is written, as far as possible."""
        self.secure()
        if not self._problem:
            self._try(lambda: self._taken.add(map(self._taken_by, marks.values())))
        self._confirm({task_id: counted.number for task_id, counted in marks.items()})

    def _taken_by(self, counted: Counted) -> Taken:
        name = self._names.get(counted.task_id, "")
        log = self._logs.get(name)
        position = log.position if log is not None else None
        return Taken(counted.task_id, counted.number, counted.is_last, name, position)

    def begun(self, beginning: Beginning) -> None:
        self._note(beginning.at, "beginning", beginning, wall=self._wall())
        self.secure()  # the engine is found before the first event

    def happened(self, event: Any, now: float) -> None:
        self._note(now, "event", event)
        if self._git is not None and self._git.poll() is not None:
            self._git = None  # which would stay a zombie as long as the run

    def told(self, event: Event | Mark, now: float) -> None:
        # A generation and the lines of its tasks are distinguished by the same clock.
        is_mark = isinstance(event, Mark)
        self._note(now, "told", event, **({"wall": self._wall()} if is_mark else {}))

    def _note(self, now: float, kind: str, value: Any, **more: Any) -> None:
        data = json_line({"at": now, kind: to_json(value), **more})
        if self.confirms and not self._problem:
            self._unwritten.append(data)
        elif not self._writer.put(self._events, data):
            self._events.left_out += 1

    def secure(self) -> None:
        """Written in one piece: under load many events arrive before anybody acts on the first."""
        with self._writes_events:
            data = b"".join(self._unwritten.popleft() for _ in range(len(self._unwritten)))
            if data and not self._problem:
                self._try(lambda: self._events.append(data))

    def written(
        self, task: str, stream: str, text: str, dropped: int, counted: Counted | None = None
    ) -> None:
        if not self.confirms:
            counted = None
        if counted is not None:
            self._names[counted.task_id] = task
        if dropped:
            self._log(task, "tfrun", left_out(dropped, "they came too fast"))
        if text:
            self._log(task, stream, text, counted)
        elif counted is not None:
            self._writer.count(counted)

    def measured(self, task: str, usage: Usage) -> None:
        self._writer.put(self._measurements, line_of(self._wall(), task, usage))

    def progressed(self, task: str, line: str) -> None:
        self._writer.put(self._progress, bar_line(task, self._wall(), line))

    def said(self, text: str) -> None:
        self._log(SAID, "tfrun", f"{text}\n")

    def _log(self, name: str, stream: str, text: str, counted: Counted | None = None) -> None:
        log = self._logs.get(name) or self._new_log(name)
        missing = self._left_out.pop(name, 0)
        data = self._too_slow(missing) + written_line(self._wall(), stream, text)
        if not self._writer.put(log, data, counted):
            self._left_out[name] = lines_in(data)

    def _too_slow(self, lines: int) -> bytes:
        note = left_out(lines, self._problem or "the disk was too slow")
        return written_line(self._wall(), "tfrun", note) if lines else b""

    def _new_log(self, name: str) -> TaskLog:
        self._logs[name] = TaskLog(self.directory.log_file(name), self._limit)
        return self._logs[name]

    def end(self, outcome: Outcome, report: list[str]) -> None:
        """Nothing more will come, which the last file says."""
        if not self._close():
            self._complain("the record of the run is not complete: the disk is too slow")
            return
        self._try(self._end_logs)
        self.directory.progress_file.unlink(missing_ok=True)  # no bar moves any more
        self._reserve.unlink(missing_ok=True)
        ended = _ended(outcome, report, self._wall())
        ended["missing"] = self._missing()
        self._try(lambda: write_whole(self.directory.outcome_file, ended))
        # Not before: without it, the next launcher would take every line to be still coming.
        self.directory.taken_file.unlink(missing_ok=True)
        self._note_missing()

    def _try(self, work: Callable[[], object]) -> None:
        try:
            work()
        except OSError as error:
            self._failed(error)

    def _end_logs(self) -> None:
        """Join each log into one file; on a full disk they stay in pieces."""
        if not self._problem:
            self._note_missing()
        if not self._problem:
            for log in self._logs.values():
                log.join()
            self._events.close()

    def _note_missing(self) -> None:
        """At the ends of the logs; on a full disk as far as there is room."""
        for name in self._logs:
            self._try(partial(self._note_missing_in, name))

    def _note_missing_in(self, name: str) -> None:
        if missing := self._lines_missing(name):
            self._logs[name].append(self._too_slow(missing))
            self._left_out.pop(name, None)
            self._lost.pop(self._logs[name], None)

    def _missing(self) -> Json | None:
        """What the record lacks, for its last file."""
        if not self._problem:
            return None
        lines = {name: self._lines_missing(name) for name in self._logs}
        return {"why": self._problem, "lines": {name: n for name, n in lines.items() if n}}

    def _lines_missing(self, name: str) -> int:
        return self._left_out.get(name, 0) + self._lost[self._logs[name]]

    def _not_written(self, file: Appendable, data: bytes) -> None:
        self._lost[file] += lines_in(data)

    def _close(self) -> bool:
        if self._git is not None:
            self._git.kill()  # its time is up
            self._git.wait()
        self.secure()
        return self._writer.close(CLOSE_WITHIN)

    def leave(self) -> None:
        """Another launcher continues the run, and its record."""
        self._close()

    def discard(self) -> None:
        """There was no run after all."""
        self._close()
        shutil.rmtree(self.directory.path, ignore_errors=True)

    def _failed(self, error: OSError) -> None:
        """The run continues without a record. This is reported once, and in the record."""
        if self._problem:
            return
        self._problem = why = str(error.strerror or error)
        self._complain(f"the run is no longer recorded: {self.directory.path}: {why}")
        with suppress(OSError):
            os.truncate(self._reserve, RESERVE // 2)
            write_whole(self.directory.incomplete_file, {"why": why}, waits_for_disk=False)


def _ended(outcome: Outcome, report: list[str], wall: float) -> Json:
    """A run that somebody ends counts as stopped; output that cannot be written is a failure."""
    return {
        "ended": wall,
        "exit_code": outcome.exit_code,
        "error": None if outcome.error is None else str(outcome.error),
        "was_stopped": isinstance(outcome.error, Interrupted) and outcome.exit_code > 128,
        "report": report,
        "times": [list(time) for time in outcome.times],
    }


def write_end(run: RunDirectory, wall: float) -> None:
    """Record that a run was ended whose record no launcher could continue."""
    stopped = Outcome(error=Interrupted("stopped by its owner, after its launcher was lost"))
    write_whole(run.outcome_file, _ended(stopped, [], wall))
    for file in (run.keys_file, run.lock_file, run.taken_file):
        file.unlink(missing_ok=True)


def write_whole(path: Path, text: Json, waits_for_disk: bool = True) -> None:
    """Write all of it or nothing; even after a power failure if it *waits_for_disk*."""
    new = path.with_name(f"{path.name}.new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(text, file, indent=2)
        file.write("\n")
        file.flush()
        if waits_for_disk:
            os.fsync(file.fileno())
    new.replace(path)
