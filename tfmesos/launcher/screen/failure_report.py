"""The text of the failure report: the first failure, its host, its last output, and a hint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...core.check_reasons import CheckReasons
from ...core.outcome import Ending, Outcome
from ...sanitize import columns_of, plain, tidy
from ...text import join_names
from .hints import hint


def failure_report(outcome: Outcome, named: Callable[[str], str] = str) -> list[str]:
    """The lines of the report.

    *named* returns the user's name of a setting: its flag, or its field.
    """
    lines = [str(outcome.error)]
    if cause := outcome.cause:
        lines += _last_lines(cause)
        if way_out := hint(cause.tail, cause.code, cause.reason, named):
            lines.append(f"  hint: {way_out}")
        if outcome.others:
            lines.append(
                f"  ended after it, or because of it: {_named(outcome.others, cause.reason)}"
            )
    if outcome.restarted:
        lines.append(f"  restarted before it: {_named(outcome.restarted)}")
    if outcome.unstopped:
        lines.append(f"  ended without waiting for {join_names(outcome.unstopped, most=8)}")
    return lines


def _named(endings: Sequence[Ending], *said: str) -> str:
    """The tasks, and why they ended; *said* are reasons that the report has given."""
    checks = CheckReasons(*said)
    why = [(end.task.name, checks.shown(end.code, end.reason)) for end in endings]
    return join_names([f"{name} ({reason})" for name, reason in why], most=8)


def _last_lines(ending: Ending) -> list[str]:
    sandbox = [f"  its sandbox: {ending.sandbox}"] if ending.sandbox else []
    if not ending.tail:
        return sandbox
    tail = [f"    {tidy(line)}" for line in ending.tail]
    return ["  its last lines:", *tail, *sandbox]


def closing(
    report: Sequence[str], outcome: Outcome, run_id: str, columns: int, rows: int
) -> list[str]:
    """The lines to repeat below a *report* that pushes its first line off the terminal.

    *run_id* is empty if the run is not recorded.
    """
    height = sum(max(1, -(-columns_of(plain(line)) // max(columns, 1))) for line in report)
    if height <= rows // 2:
        return []
    task = outcome.cause.task.name if outcome.cause else ""
    more = f"  run {run_id}; tfrun logs {run_id} {task}".rstrip() + " shows more"
    return [report[0], *([more] if run_id else [])]


def time_report(outcome: Outcome) -> str:
    """Where the time of a successful run went."""
    total = sum(seconds for _, seconds in outcome.times)
    long = [(what, seconds) for what, seconds in outcome.times if seconds >= 0.05]
    parts = ", ".join(f"{what} {seconds:.1f} s" for what, seconds in long)
    return f"done in {total:.1f} s: {parts}"
