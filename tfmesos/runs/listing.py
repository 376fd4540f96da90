"""Runs as text: one line each, or one with all its tasks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from itertools import chain, groupby, pairwise

from ..json_types import Json
from ..sanitize import plain
from ..text import count, duration, size_text
from .measurements import latest
from .run_files import RunDirectory
from .status import (
    ENDED,
    HELD,
    LOST,
    Generation,
    RunStatus,
    TaskStatus,
    phase_of,
    state_of,
    status_now,
)
from .takeover.lost_runs import adoptable_until, clock_time, lost_words

LONGEST_COMMAND = 60  # characters
MOST_GENERATIONS = 10  # lines about them

_ENDS = ("succeeded", "failed", "stopped", ENDED, LOST)
_SHOWN_STATES = ("running", "starting", "waiting", HELD, *_ENDS)


def table(rows: Iterable[Sequence[str]]) -> list[str]:
    """Columns as wide as they must be."""
    known = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*known, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in known]


def list_of(runs: Sequence[RunDirectory], now: float) -> list[str]:
    header = ("ID", "STATE", "BEGAN", "TIME", "TASKS", "COMMAND")
    return table([header, *(_row(run, now) for run in runs)])


def _row(run: RunDirectory, now: float) -> tuple[str, ...]:
    return (
        run.id,
        _phase_and_code(run, "running"),
        datetime.fromtimestamp(run.began).strftime("%Y-%m-%d %H:%M"),
        duration(end_of(run, now) - run.began),
        " ".join(f"{number} {job}" for job, number in run.jobs.items()),
        _command(run),
    )


def _phase_and_code(run: RunDirectory, phase: str) -> str:
    if (until := adoptable_until(run)) is not None:
        return f"{LOST}, can be adopted until {clock_time(until)}"
    code = (run.outcome or {}).get("exit_code")
    return f"{phase_of(run, phase)} ({code})" if code else phase_of(run, phase)


def end_of(run: RunDirectory, now: float) -> float:
    outcome = run.outcome
    if outcome is not None:
        return float(outcome.get("ended", now))
    return run.last_written if run.is_over else now


def _command(run: RunDirectory) -> str:
    text = run.shown_command
    return text if len(text) <= LONGEST_COMMAND else f"{text[: LONGEST_COMMAND - 3]}..."


def status_of(
    run: RunDirectory, now: float, narrow: Callable[[str], str] = lambda line: line
) -> list[str]:
    """Lines of text are complete; those of a table may have to be *narrow*."""
    status = status_now(run)
    state = _phase_and_code(run, status.phase)
    took = duration(end_of(run, now) - run.began)
    lines = [f"{run.id}  {state} after {took}  on {run.about.get('master', '?')}  {_command(run)}"]
    lines.append(f"  {_origin(run)}")
    if run.is_lost:
        lines.append(f"  {lost_words(run)}")
    if status.why and not run.is_over:
        word = "waiting: " if status.is_waiting else ""
        lines.append(f"  {word}{plain(status.why)}")
    lines += map(plain, _generation_lines(run, status))
    usages = {} if run.is_over else latest(run.measurements_file)
    lines += map(narrow, task_tree(status, end_of(run, now) - run.began, usages))
    lines += [f"  TensorBoard: {address}" for address in status.tensorboards()]
    if files := run.brought_files():
        lines.append(f"  {count(len(files), 'file')} collected: {run.brought}")
    if missing := run.missing:
        lines.append(f"  {plain(str(missing))}")
    report = (run.outcome or {}).get("report") or []
    return [*lines, *(plain(line) for line in report)]


def _generation_lines(run: RunDirectory, status: RunStatus) -> list[str]:
    """Each generation except the first, with its previous shape; the latest at the end."""
    pairs = pairwise(status.generations)
    marks = [
        (new.at, f"generation {new.number} after {duration(new.at)}: {_change(old, new)}{new.why}")
        for old, new in pairs
    ]
    for one in status.updates:
        marks.append((one.at, f"update after {duration(one.at)}: {one.why}; {one.words}"))
    return [f"  {words}" for _, words in sorted(marks)[-MOST_GENERATIONS:]]


def _change(old: Generation, new: Generation) -> str:
    return "" if old.shape == new.shape else f"{old.words} -> {new.words}; "


def why_of(run: RunDirectory, status: RunStatus) -> str:
    """Why a run is not in the expected state."""
    if run.is_lost:
        return lost_words(run)
    return "" if run.is_over else status.why


def _origin(run: RunDirectory) -> str:
    """Where it was started."""
    commit = f", commit {run.commit[:12]}" if run.commit else ""
    where = f"started on {run.launcher.host or '?'} in {run.about.get('cwd', '?')}{commit}"
    return plain(where)


def task_tree(status: RunStatus, now: float, usages: dict[str, Json]) -> list[str]:
    """Each job, and below it its tasks."""
    lines: list[str] = []
    job_rows = {job: [*_task_rows(status, job, now, usages)] for job in status.counts()}
    rows = iter(table(chain.from_iterable(job_rows.values())))
    for job, states in status.counts().items():
        total = len(job_rows[job])
        shown = ", ".join(f"{states[s]} {s}" for s in _SHOWN_STATES if s in states)
        restarts = status.jobs()[job]["restarts"]
        again = f" ({count(restarts, 'restart')})" if restarts else ""
        lines.append(f"  {job}: {shown}{again}")
        for number in range(total):
            lines.append(f"  {'└─' if number == total - 1 else '├─'} {next(rows)}")
    return lines


def _task_rows(
    status: RunStatus, job: str, now: float, usages: dict[str, Json]
) -> Iterator[tuple[str, ...]]:
    """A row for each task, or for several in a row that do not differ."""
    rows = [_task_row(task, now, usages) for task in status.tasks.values() if task.job == job]
    for rest, group in groupby(rows, key=lambda row: row[1:]):
        names = [row[0] for row in group]
        yield (names[0] if len(names) == 1 else f"{names[0]} - {names[-1]}", *rest)


def _task_row(task: TaskStatus, now: float, usages: dict[str, Json]) -> tuple[str, ...]:
    took = "" if task.began is None else duration((task.ended or now) - task.began)
    again = count(task.restarts, "restart") if task.restarts else ""
    uses = _uses(usages.get(task.name, {})) if task.state == "running" else ""
    return (task.name, task.state, task.node, task.address, took, again, uses, task.reason)


def _uses(usage: Json) -> str:
    """The last measurement of a task."""
    try:
        text = f"{usage['cpu']:.0f} % cpu {size_text(int(usage['memory']))}"
        busy = [f"{gpu['busy']:.0f} %" for gpu in usage.get("gpus", ())]
    except (KeyError, TypeError, ValueError):
        return ""  # nothing, or written by another version
    return f"{text} gpu {' '.join(busy)}" if busy else text


def as_row_json(run: RunDirectory, now: float) -> Json:
    """A run in a list, for programs."""
    return {
        "id": run.id,
        "state": state_of(run),
        "adoptable_until": adoptable_until(run),
        "began": run.began,
        "seconds": end_of(run, now) - run.began,
        "exit_code": (run.outcome or {}).get("exit_code"),
        "jobs": run.jobs,
        "command": run.shown_command,
        "cwd": run.about.get("cwd", ""),
        "host": run.launcher.host,
    }


def as_json(run: RunDirectory, now: float) -> Json:
    status, usages = status_now(run), latest(run.measurements_file)
    return {
        "id": run.id,
        "phase": phase_of(run, status.phase),
        "state": state_of(run),
        "adoptable_until": adoptable_until(run),
        "why": why_of(run, status),
        "began": run.began,
        "seconds": end_of(run, now) - run.began,
        "exit_code": (run.outcome or {}).get("exit_code"),
        "report": (run.outcome or {}).get("report", []),
        "command": run.about.get("command", []),
        "cwd": run.about.get("cwd", ""),
        "commit": run.commit,
        "host": run.launcher.host,
        "directory": str(run.path),
        "missing": None if run.missing is None else run.missing._values(),
        "brought": run.brought_files(),
        "tensorboard": status.tensorboards(),
        "generation": status.generation,
        "generations": [asdict(one) for one in status.generations],
        "jobs": status.jobs(),
        "addresses": status.addresses(),
        "tasks": [_task_json(task, usages.get(task.name)) for task in status.tasks.values()],
    }


def _task_json(task: TaskStatus, usage: Json | None) -> Json:
    return {**{name: getattr(task, name) for name in TaskStatus.__slots__}, "usage": usage}
