"""Which runs another launcher may continue, until when, and what is said of the others."""

from __future__ import annotations

import json
import os
import socket
import time

import pytest

from tests.sentences import names
from tfmesos.launcher.past import CannotTakeOver
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import LauncherProcess, this_process
from tfmesos.runs.listing import list_of, status_of
from tfmesos.runs.run_directories import Store
from tfmesos.runs.takeover import hold
from tfmesos.runs.takeover.lost_runs import adoptable_until, check_lost, clock_time, lost_words

SURVIVE = 600.0
DEAD = LauncherProcess(socket.gethostname(), "another boot", 1, 1)
ELSEWHERE = LauncherProcess("login-2", "its boot", 1, 1)


@pytest.fixture
def lost(tmp_path):
    """A run whose launcher gave its last sign of life so many seconds ago."""

    def make(ago, launcher=DEAD, **more):
        run = Store(tmp_path / "runs").create(lambda: "abcd")
        about = {"began": 1.0, "survive": SURVIVE, "launcher": to_json(launcher), **more}
        run.about_file.write_text(json.dumps(about))
        run.events_file.write_text('{"at": 5}\n')
        run.keys_file.write_text("{}")
        last = time.time() - ago
        for path in (run.about_file, run.events_file):
            os.utime(path, times=(last, last))
        return run

    return make


def refusal(run):
    with pytest.raises(CannotTakeOver) as refused:
        check_lost(run)
    return str(refused.value)


def test_a_lost_run_can_be_adopted_as_long_as_its_tasks_wait_and_that_is_said(lost):
    run = lost(ago=SURVIVE / 6)
    until = adoptable_until(run)
    assert until == run.events_file.stat().st_mtime + SURVIVE
    check_lost(run)
    assert f"abcd  lost, can be adopted until {clock_time(until)}" in list_of([run], 2.0)[1]
    assert f"until {clock_time(until)}: tfrun adopt abcd" in lost_words(run)


def test_afterwards_it_is_just_lost(lost):
    run = lost(ago=SURVIVE + 1)
    assert adoptable_until(run) is None
    assert "only until" in refusal(run)
    assert "abcd  lost  " in list_of([run], 2.0)[1]
    assert "adopt" not in "\n".join(status_of(run, 2.0))


def test_a_sign_of_life_counts_even_if_nothing_was_written_since(lost):
    run = lost(ago=SURVIVE + 1)
    beat = time.time() - 1
    run.lock_file.write_text(f"5.0 {beat!r} 10\n")
    assert adoptable_until(run) == beat + SURVIVE


def test_a_launcher_that_tried_in_vain_to_take_over_prolongs_nothing(lost):
    """It wrote down who it was, and what it said, but nothing happened in the run."""
    run = lost(ago=SURVIVE + 1)
    run.about_file.touch()
    run.output.mkdir()
    (run.output / "tfrun.log").write_text("in vain\n")
    assert adoptable_until(run) is None
    assert "only until" in refusal(run)


def test_only_its_silence_tells_that_the_launcher_of_another_machine_is_gone(lost):
    assert "was alive just now" in refusal(lost(ago=0, launcher=ELSEWHERE))


def test_the_silent_launcher_of_another_machine_can_be_followed(lost):
    run = lost(ago=hold.STALE + 1, launcher=ELSEWHERE)
    check_lost(run)
    assert adoptable_until(run) is not None


def test_a_living_launcher_keeps_its_run(lost):
    run = lost(ago=SURVIVE / 2, launcher=this_process())
    assert adoptable_until(run) is None
    assert f"(pid {os.getpid()}), which is alive: see tfrun attach abcd" in refusal(run)


def test_a_run_that_was_to_end_with_its_launcher_is_over(lost):
    run = lost(ago=1, survive=0)
    assert adoptable_until(run) is None
    assert "ended with its launcher" in refusal(run)


@pytest.mark.parametrize(
    "file, content, words",
    [
        ("events.jsonl", "", "had not started"),
        ("events.jsonl", '{"at": 5', "had not started"),
        ("incomplete.json", '{"why": "No space left on device"}', "No space left on device"),
        ("outcome.json", '{"exit_code": 0}', "is over"),
    ],
)
def test_what_a_record_must_be_for_the_next_launcher(lost, file, content, words):
    run = lost(ago=1)
    (run.path / file).write_text(content)
    assert adoptable_until(run) is None
    assert words in refusal(run)


def test_without_its_keys_nobody_can_continue_a_run(lost):
    run = lost(ago=1)
    run.keys_file.unlink()
    assert adoptable_until(run) is None
    assert names(refusal(run), "run abcd cannot be taken over", "keys")
