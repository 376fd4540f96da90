"""A task whose command failed is held for its owner, who looks at what is left of it."""

from __future__ import annotations

import json
import re

from tests.bounds import HANG
from tests.commands import running_tfrun, tfrun
from tests.sentences import names
from tests.whole.entering import inside

FAILING = ("sh", "-c", "echo begun > left; exit 7")


def held(run):
    """Wait until the screen says so."""
    while "is held" not in (line := run.stderr.readline()):
        assert line, "the run ended before"
    return line


def status():
    return json.loads(tfrun("status", "--json").stdout)


def test_a_failed_task_is_held_until_its_owner_continues_and_fails_then(tmp_path):
    (tmp_path / "extra.json").write_text('{"finalizer": "rm left"}')
    flags = ("-w", 1, "--pause-on-failure", "-e", "extra.json", "--")
    with running_tfrun(*flags, *FAILING, cwd=tmp_path) as run:
        said = held(run)
        assert re.search(r"worker:0 on \S+ exited with 7", said) and "tfrun continue" in said
        while not (found := status())["why"]:  # the record comes a little after the screen
            pass
        assert [(task["state"], task["reason"]) for task in found["tasks"]] == [
            ("held", "exited with 7")
        ]
        assert names(found["why"], "worker:0", "held", "tfrun continue")
        assert inside("exec", "worker:0", "cat", "left").stdout == b"begun\n"
        assert inside("cp", "worker:0:left", "-").stdout == b"begun\n"
        assert tfrun("continue").returncode == 0
        assert run.wait(HANG) == 7
    assert not (tmp_path / "left").exists()  # its finalizer ran after all


def test_a_held_task_goes_on_by_itself_when_its_time_is_over(tmp_path):
    with running_tfrun("-w", 1, "--pause-on-failure=1s", "--", *FAILING, cwd=tmp_path) as run:
        held(run)
        assert run.wait(HANG) == 7


def test_a_run_that_is_stopped_holds_nothing(tmp_path):
    flags = ("-w", 1, "--pause-on-failure", "--")
    with running_tfrun(*flags, *FAILING, cwd=tmp_path) as run:
        held(run)
        run.terminate()
        assert run.wait(HANG) == 143
    with running_tfrun(*flags, "sh", "-c", "echo begun; exec sleep 600") as run:
        assert "begun" in run.stdout.readline()
        assert tfrun("continue").returncode == 2  # nothing is held
        run.terminate()
        assert run.wait(HANG) == 143
        assert "is held" not in run.stderr.read()
