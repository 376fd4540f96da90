"""Runs whose launcher is gone: which of them another launcher can continue, and until when."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from datetime import datetime

from ...launcher.past import CannotTakeOver
from ..run_files import RunDirectory
from .hold import holder_of, is_fresh, last_beat
from .keys_file import has_left

END_WITHIN = 10.0  # seconds for a launcher that is killed


def adoptable_until(run: RunDirectory) -> float | None:
    """When the tasks of a lost run give up; None if no launcher can continue it."""
    survive = run.about.get("survive")
    if run.outcome is not None or not is_gone(run):
        return None
    if not run.keys_file.exists() or run.incomplete_file.exists():
        return None
    if not isinstance(survive, (int, float)) or not _has_begun(run):
        return None
    until = last_beat(run).wall + survive
    return until if until > time.time() else None


def is_final(run: RunDirectory) -> bool:
    """Is it over, so that no launcher can continue it?"""
    return run.is_over and adoptable_until(run) is None


def is_gone(run: RunDirectory) -> bool:
    """Is its launcher gone, wherever it was? On another machine only silence can show it."""
    alive = run.launcher.is_alive
    return has_left(run) or not is_fresh(run) if alive is None else not alive


def lost_words(run: RunDirectory) -> str:
    """The words for a run whose launcher died before recording its end."""
    when = datetime.fromtimestamp(run.last_written).strftime("%Y-%m-%d %H:%M:%S")
    died = f"its launcher (pid {run.launcher.pid}) died; it was last heard of at {when}"
    if (until := adoptable_until(run)) is None:
        return died
    return f"{died}; its tasks wait until {clock_time(until)}: tfrun adopt {run.id} continues it"


def check_lost(run: RunDirectory) -> None:
    """Raises CannotTakeOver unless another launcher may continue *run*."""
    if why := _why_not(run):
        raise CannotTakeOver(f"run {run.id} {why}")


def _why_not(run: RunDirectory) -> str:
    if run.outcome is not None:
        return "is over"
    survives = bool(run.about.get("survive"))
    if run.launcher.is_alive and not (survives and run.launcher.is_stopped):
        return f"is held by {holder_of(run)}, which is alive: see tfrun attach {run.id}"
    if run.launcher.is_alive is None and not is_gone(run):
        return f"is held by {holder_of(run)}, which was alive just now"
    if not survives:
        return "ended with its launcher: its tasks did not wait for another one"
    if run.incomplete_file.exists():
        return f"cannot be taken over: {run.missing}"
    if not _has_begun(run):
        return "had not started when its launcher died: start it again"
    if not run.keys_file.exists():
        return "cannot be taken over: its keys are gone"
    until = last_beat(run).wall + float(run.about["survive"])
    if until < time.time():
        return f"was lost; its tasks waited for a launcher only until {clock_time(until)}"
    return ""


def _has_begun(run: RunDirectory) -> bool:
    try:
        with run.events_file.open("rb") as file:
            return file.readline().endswith(b"\n")
    except OSError:
        return False


def clock_time(wall: float) -> str:
    return datetime.fromtimestamp(wall).strftime("%H:%M")


def end_stopped(run: RunDirectory) -> None:
    """End a stopped launcher (SIGSTOP, Ctrl-Z) first, because it could wake up later."""
    launcher = run.launcher
    if not launcher.is_alive or not launcher.is_stopped:
        return
    with suppress(ProcessLookupError):
        os.kill(launcher.pid, signal.SIGKILL)
    end = time.monotonic() + END_WITHIN
    while launcher.is_alive and time.monotonic() < end:
        time.sleep(0.05)
