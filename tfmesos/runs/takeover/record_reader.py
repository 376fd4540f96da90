"""The past of a run, from its record. A record that ends within a line counts up to that line."""

from __future__ import annotations

import json
import time
from typing import Any

from ...json_types import Json
from ...launcher.deciders import Beginning
from ...launcher.past import UNFIT, CannotTakeOver, Past
from ...sanitize import plain
from ...version import __version__
from ..event_json import from_json
from ..run_files import RunDirectory
from .hold import last_beat
from .taken_messages import Taken

LATEST = 1e12  # seconds on the clock of a run: a number, and a finite one


def past_of(run: RunDirectory, before: list[Taken]) -> Past:
    """Raises CannotTakeOver if the record does not contain everything that is needed."""
    written_by = run.about.get("versions", {}).get("tfmesos")
    if written_by != __version__:
        problem = f"it was started by tfmesos {written_by}, but this is {__version__}"
        raise CannotTakeOver(f"run {run.id} cannot be taken over: {problem}")
    beat = last_beat(run)
    first, *entries = _entries(run, beat.recorded)
    beginning = _beginning(run, first)
    steps, told = [], []
    for number, entry in enumerate(entries, 2):
        if "event" in entry:
            steps.append((_value(run, number, entry["event"]), _moment(run, number, entry)))
        if "told" in entry:
            told.append(_value(run, number, entry["told"]))
    received = {taken.task_id: (taken.number, taken.is_last) for taken in before}
    away = max(time.time() - beat.wall, 0.0)
    return Past(beginning, tuple(steps), tuple(told), received, beat.at, away)


def _entries(run: RunDirectory, least: int) -> list[Json]:
    """The entries of a record that had at least *least* bytes."""
    try:
        text = run.events_file.read_bytes()
    except OSError as error:
        raise _damaged(run, str(error.strerror)) from None
    if len(text) < least:
        raise _damaged(run, f"{least - len(text)} bytes are missing at its end")
    lines = text.split(b"\n")[:-1]
    if not lines:
        raise _damaged(run, "it is empty")
    found = [_entry(run, number, line) for number, line in enumerate(lines, 1)]
    if any("left_out" in entry for entry in found):
        raise _damaged(run, "not all events were recorded")
    return found


def _entry(run: RunDirectory, number: int, line: bytes) -> Json:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _malformed(run, number)
    return found


def _beginning(run: RunDirectory, entry: Json) -> Beginning:
    found = _value(run, 1, entry.get("beginning"))
    if not isinstance(found, Beginning):
        raise _damaged(run, "it does not say how the run began")
    try:
        found.lifecycle()
        found.engine()
    except UNFIT:
        raise _malformed(run, 1) from None
    if not _is_moment(found.at):
        raise _malformed(run, 1)
    return found


def _value(run: RunDirectory, number: int, value: Any) -> Any:
    try:
        return from_json(value)
    except UNFIT as error:
        raise _malformed(run, number, f": {plain(str(error))}") from None


def _moment(run: RunDirectory, number: int, entry: Json) -> float:
    at: Any = entry.get("at")
    if not _is_moment(at):
        raise _malformed(run, number, ": it does not say when")
    return float(at)


def _is_moment(value: Any) -> bool:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return is_number and abs(value) <= LATEST


def _malformed(run: RunDirectory, number: int, why: str = "") -> CannotTakeOver:
    return _damaged(run, f"line {number} is malformed{why}")


def _damaged(run: RunDirectory, problem: str) -> CannotTakeOver:
    file = run.events_file
    return CannotTakeOver(f"run {run.id} cannot be taken over: {file} is damaged: {problem}")
