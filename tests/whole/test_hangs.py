"""A hung run, and one that is only slow."""

import re
import sys

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.sentences import names

HANGS = """
import socket, sys, time
def wait_for_godot():
    time.sleep(1000)
host, port = sys.argv[1].rsplit(":", 1)
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if sys.argv[2] == "0":
    listener.bind((host, int(port)))
    listener.listen()
open(sys.argv[3], "w").close()
wait_for_godot()
"""
# Something is written until it hangs, however long that takes.
BUSY = "until [ -e {0} ]; do echo starting; sleep 0.1; done & exec {1} {2} ${{hosts%%,*}} {3} {0}"


@pytest.mark.parametrize("logs", ["all", "none"])
def test_a_hung_run_shows_where_its_code_stands_and_whom_it_reaches(tmp_path, logs):
    (tmp_path / "hangs.py").write_text(HANGS)
    begun, program = f"{tmp_path}/begun-{{task_index}}", tmp_path / "hangs.py"
    busy = BUSY.format(begun, sys.executable, program, "{task_index}")
    command = f"hosts={{worker_hosts}}; {busy}"
    done = tfrun("-w", 2, "--logs", logs, "--hang-timeout", 5, "--", command)
    assert done.returncode == 124
    assert re.search(r"^\[worker:1\] tfmesos: reaches worker:0 at 127", done.stderr, re.M)
    assert "[worker:0] tfmesos: cannot reach worker:1 at 127.0.0.1:" in done.stderr
    for name in ("worker:0", "worker:1"):
        where = rf'^\[{name}\]   File ".*hangs.py", line 4 in wait_for_godot$'
        assert re.search(where, done.stderr, re.M), done.stderr
    assert "considered hung, and ended" in done.stderr.splitlines()[-1]


def test_a_run_that_writes_now_and_then_is_not_hung():
    command = "for i in $(seq 60); do sleep 0.2; echo $i; done"
    done = tfrun("-w", 1, "--hang-timeout", 10, "--", command)
    assert (done.returncode, done.stdout.count("\n")) == (0, 60)


def test_one_silent_task_ends_the_run_if_any_is_meant():
    script = "while [ {task_index} = 0 ]; do echo busy; sleep 0.2; done; exec sleep 1000"
    done = tfrun("-w", 2, "--logs", "worker:1", "--hang-timeout", "any:8s", "--", script)
    assert done.returncode == 124
    assert names(done.stderr.splitlines()[-1], "worker:1", "8 s", "hung")


@pytest.mark.parametrize("value", ["any:", "any:x", "some:5m"])
def test_a_wrong_hang_timeout_is_refused(value):
    done = tfrun("-w", 1, "--hang-timeout", value, "--", "true")
    assert done.returncode == 2
    assert done.stderr.startswith("tfrun: --hang-timeout must be "), done.stderr
    assert done.stderr.endswith(f"got {value!r}\n")


def test_the_run_ends_after_its_evaluator_or_says_that_it_had_to_be_stopped(tmp_path):
    go = tmp_path / "go"
    flags = ("-w", 1, "--evaluator")
    wait = f"until [ -e {go} ]; do sleep 0.05; done; echo measured"
    script = f"[ {{job_name}} = worker ] || {{ {wait}; }}"
    with running_tfrun(*flags, "--evaluator-grace", "1h", "--", script) as run:
        (*_, said) = read_until(run.stderr, "all others have finished")
        assert said.endswith(" for evaluator:0")
        go.touch()
        out, err = finish(run)
    assert (run.returncode, out) == (0, "[evaluator:0] measured\n"), err
    script = "[ {job_name} = worker ] || exec sleep 600"
    done = tfrun(*flags, "--evaluator-grace", "1s", "--", script)
    assert done.returncode == 0
    assert "evaluator:0 did not finish within 1 s" in done.stderr
