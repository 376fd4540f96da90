"""Runs as JSON for the page."""

from __future__ import annotations

import shlex

from ...json_types import Json
from ...launcher.screen.progress_bar import ProgressBar
from ...sanitize import plain
from ...text import shortened
from ..listing import end_of, why_of
from ..live_status import LiveStatus
from ..recorder import SAID
from ..run_files import RunDirectory
from ..status import RunStatus, TaskStatus, phase_of
from ..takeover.lost_runs import adoptable_until, is_final
from .failure import report_parts

LONGEST_COMMAND = 2000  # characters
MOST_GENERATIONS = 50  # marks on the time line
MOST_STATES = 100  # of one task that are shown; a task may be started again forever


def row(run: RunDirectory, phase: str, now: float) -> Json:
    """A run in the list of all."""
    outcome = run.outcome
    return {
        "id": run.id,
        "phase": phase_of(run, phase),
        "code": (outcome or {}).get("exit_code"),
        "began": run.began,
        "ended": end_of(run, now) if is_final(run) else None,
        "adoptable_until": adoptable_until(run),
        "tasks": ", ".join(f"{number} {job}" for job, number in run.jobs.items()),
        "command": plain(shortened(run.shown_command, LONGEST_COMMAND)),
    }


def whole(progress: LiveStatus, now: float) -> Json:
    """Everything about a run except its output."""
    run, status = progress.run, progress.look()
    bars = progress.bars()
    tasks = [
        {
            **_task(task),
            "states": progress.history.get(task.name, [])[-MOST_STATES:],
            "bar": _bar(bars.get(task.name)) if task.state == "running" else None,
        }
        for task in status.tasks.values()
    ]
    return {
        **row(run, status.phase, now),
        **_outcome(run, status),
        **_origin(run),
        "all": tasks,
        "generations": _marks(status),
    }


def _marks(status: RunStatus) -> list[Json]:
    """When each generation except the first, and each rolling update, began, and why."""
    marks: list[Json] = [
        {"name": f"Generation {one.number}", "at": one.at, "words": f"{one.words}; {one.why}"}
        for one in status.generations[1:]
    ]
    marks += [
        {"name": "Update", "at": one.at, "words": f"{one.why}; {one.words}"}
        for one in status.updates
    ]
    last = sorted(marks, key=lambda one: one["at"])[-MOST_GENERATIONS:]
    return [{**one, "words": plain(one["words"])} for one in last]


def _outcome(run: RunDirectory, status: RunStatus) -> Json:
    report = (run.outcome or {}).get("report")
    lines = report if isinstance(report, list) else []
    return {
        "why": plain(why_of(run, status)),
        "is_waiting": not run.is_over and status.is_waiting,
        "is_over": is_final(run),
        "boards": [] if run.is_over else status.tensorboards(),
        "report": report_parts([plain(str(line)) for line in lines]) if lines else None,
    }


def _task(task: TaskStatus) -> Json:
    """A task, with text from others, such as node names and reasons, made plain."""
    found = {name: getattr(task, name) for name in TaskStatus.__slots__}
    return {key: plain(it) if isinstance(it, str) else it for key, it in found.items()}


def _bar(bar: ProgressBar | None) -> Json | None:
    return {"part": bar.part, "words": bar.words} if bar else None


def _origin(run: RunDirectory) -> Json:
    about = run.about
    words = about.get("command")
    command_line = shlex.join(map(str, words)) if isinstance(words, list) else ""
    facts = {
        "Command": command_line,
        "Directory": about.get("cwd"),
        "Commit": run.commit,
        "Started on": run.launcher.host,
        "Runs on": about.get("master"),
        "Settings": _pairs(about.get("settings")),
        "Versions": _pairs(about.get("versions")),
        "Record": run.path,
        "Missing": run.missing,
    }
    shown = [[name, plain(str(fact))] for name, fact in facts.items() if fact]
    return {"facts": shown, "command_line": plain(command_line)}


def _pairs(found: object) -> str:
    pairs = found.items() if isinstance(found, dict) else ()
    return ", ".join(f"{name} {_words(value)}" for name, value in pairs)


def _words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def has_log(run: RunDirectory, task: str) -> bool:
    """Is this a task of the run, or the launcher? No other name makes a path."""
    job, _, index = task.rpartition(":")
    number = run.jobs.get(job, 0)
    is_task = index.isdecimal() and str(int(index)) == index and int(index) < number
    return is_task or task == SAID or task in run.logged()
