"""The files of one run, and what can be read from them during the run and afterwards."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ..json_types import Json
from ..record import Record
from ..shared import json_reader
from ..text import count, join_names
from .event_json import from_json
from .launcher_process import LauncherProcess

KEYS = "keys"
UNKNOWN = LauncherProcess("", "", 0, -1)


def log_name(task: str) -> str:
    return f"{task.replace(':', '-')}.log"


class Missing(Record):
    """What is not in the record, and why."""

    why: str
    lines: dict[str, int]  # by task; of a run that goes on nobody has counted them

    def __str__(self) -> str:
        tasks = [f"{count(number, 'line')} of {name}" for name, number in self.lines.items()]
        return f"the record is not complete ({self.why})" + (
            f": it lacks {join_names(tasks, most=8)}" if tasks else ""
        )


class RunDirectory:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.id = path.name
        self.about_file = path / "run.json"
        self.events_file = path / "events.jsonl"
        self.measurements_file = path / "measurements.jsonl"
        self.progress_file = path / "progress.jsonl"
        self.outcome_file = path / "outcome.json"
        self.incomplete_file = path / "incomplete.json"
        self.socket_file = path / "control"
        # While the run lives, and outlives its launcher:
        self.keys_file = path / KEYS
        self.lock_file = path / "lock"
        self.taken_file = path / "taken.jsonl"
        self.commit_file = path / "commit"
        self.output = path / "output"
        self.brought = path / "brought"
        self._about: Json | None = None
        self._about_version: tuple[int, int] | None = None

    def log_file(self, task: str) -> Path:
        """The output of ``worker:0`` is in ``output/worker-0.log``."""
        return self.output / log_name(task)

    def logged(self) -> list[str]:
        """The names of all tasks that have a log."""
        stems = sorted(path.stem for path in self.output.glob("*.log"))
        return [":".join(stem.rsplit("-", 1)) for stem in stems]

    def brought_files(self) -> list[str]:
        """The files collected from tasks: ``worker-0/model.h5``."""
        found = (path for path in self.brought.rglob("*") if path.is_file())
        names = (path.relative_to(self.brought).as_posix() for path in found)
        return sorted(name for name in names if not name.startswith("."))

    @property
    def last_written(self) -> float:
        """When something happened last, in seconds since 1970."""
        return max(map(_modified, (self.about_file, self.events_file, *self.output.glob("*"))))

    @property
    def last_event(self) -> float:
        """When an event was written down last, in seconds since 1970."""
        return _modified(self.events_file)

    @property
    def about(self) -> Json:
        """What was recorded when the run began or was taken over; empty if that cannot be read."""
        version = _version(self.about_file)
        if self._about is None or version != self._about_version:
            self._about = _object(self.about_file)
            self._about_version = version
        return self._about

    @property
    def outcome(self) -> Json | None:
        """How the run ended; None while it has not, or if nobody was left to record it."""
        return _object(self.outcome_file) or None

    @property
    def missing(self) -> Missing | None:
        """What is missing because of the disk; None if the record seems complete."""
        found = (self.outcome or {}).get("missing") or _object(self.incomplete_file)
        if not isinstance(found, dict) or not found:
            return None
        lines = found.get("lines")
        counted = lines.items() if isinstance(lines, dict) else ()
        known = {name: number for name, number in counted if isinstance(number, int)}
        return Missing(str(found.get("why", "?")), known)

    @property
    def commit(self) -> str:
        """The commit that was checked out where the run was started; empty if unknown."""
        try:
            return self.commit_file.read_text("ascii", "replace").strip()[:64]
        except OSError:
            return ""

    @property
    def began(self) -> float:
        """In seconds since 1970."""
        began = self.about.get("began")
        return float(began) if isinstance(began, (int, float)) and 0 <= began < 1e11 else 0.0

    @property
    def jobs(self) -> dict[str, int]:
        """How many tasks of each job there are."""
        jobs = self.about.get("jobs")
        return jobs if isinstance(jobs, dict) else {}

    @property
    def shown_command(self) -> str:
        """What the tasks run, without the flags of tfrun; or the program that started them."""
        words = self.about.get("shown")
        if not isinstance(words, list):  # a record of an older version
            words = self.about.get("command")
            words = words if isinstance(words, list) else []
            words = words[words.index("--") + 1 :] if "--" in words else words[1:]
        return shlex.join(map(str, words))

    @property
    def launcher(self) -> LauncherProcess:
        try:
            found = from_json(self.about.get("launcher"))
        except (ValueError, TypeError):
            return UNKNOWN
        return found if isinstance(found, LauncherProcess) else UNKNOWN

    @property
    def is_over(self) -> bool:
        return self.outcome is not None or self.launcher.is_alive is False

    @property
    def is_lost(self) -> bool:
        """Has its launcher died without recording the end?"""
        return self.outcome is None and self.launcher.is_alive is False

    def entries(self) -> Iterator[Json]:
        """The recorded events; a crash may have cut the last line."""
        try:
            with self.events_file.open("rb") as file:
                for line in file:
                    if not line.endswith(b"\n"):
                        return
                    yield json.loads(line)
        except (FileNotFoundError, ValueError):
            return


def _version(path: Path) -> tuple[int, int] | None:
    """A value that changes whenever the file is replaced or written to."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _object(path: Path) -> Json:
    try:
        found: Any = json_reader.read(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
