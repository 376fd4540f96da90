"""What a hung training is doing is seen from outside, whatever its tasks answer."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from selenium.webdriver.common.by import By

from tests.bounds import HANG
from tests.commands import ROOT, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.whole.entering import lasting_run
from tests.whole.test_page import button, complaints, page, until, until_text  # noqa: F401
from tfmesos.shared.process import exists

# Worker 0 waits for data, all others wait for it.
TRAIN = """
import os, signal, threading
def all_reduce():
    threading.Event().wait()
def read_data():
    open(os.environ["FIFO"]).read()
def step():
    print("begun", flush=True)
    read_data() if os.environ["TFMESOS_TASK_ID"].count("worker-0-") else all_reduce()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGABRT, signal.SIGUSR1):
    signal.signal(number, signal.SIG_IGN)
open(os.environ["PIDS"] + "/" + str(os.getpid()), "w").close()
step()
"""


PLACES = ("worker:1-2 of 3: all_reduce at train.py:4", "worker:0: read_data at train.py:6")


@pytest.fixture
def hung(tmp_path):
    """A training that hangs and ignores signals; one task of it is even stopped."""
    (tmp_path / "pids").mkdir()
    program = tmp_path / "train.py"
    program.write_text(TRAIN)
    os.mkfifo(tmp_path / "fifo")
    flags = ("--env", f"FIFO={tmp_path}/fifo", "--env", f"PIDS={tmp_path}/pids")
    command = (sys.executable, str(program))
    with lasting_run(*flags, "--stop-grace", "1", command=command, tasks=3) as launcher:
        pids = [int(path.name) for path in (tmp_path / "pids").iterdir()]
        wait_until("all hang", lambda: all(place in tfrun("stacks").stdout for place in PLACES))
        os.kill(pids[0], signal.SIGSTOP)
        yield launcher


def test_tasks_that_answer_no_signal_are_shown_by_place_and_go_on(hung):
    done = tfrun("stacks")
    assert done.returncode == 0, done.stderr
    assert all(f"{place}\n" in done.stdout for place in PLACES), done.stdout
    answers = json.loads(tfrun("stacks", "worker:1", "--json").stdout)
    assert [answer["task"] for answer in answers] == ["worker:1"]
    assert hung.poll() is None


def test_the_frames_of_c_code_of_all_tasks_are_shown_together():
    code = "import time\nprint('begun', flush=True)\ntime.sleep(1000)"
    with lasting_run(command=(sys.executable, "-c", code), tasks=2) as launcher:
        place = "worker:0-1 of 2: <module> at <string>:3\n"
        wait_until("both sleep", lambda: tfrun("stacks").stdout.startswith(place))
        native = tfrun("stacks", "--native").stdout
        assert native.startswith(place) and "nanosleep at libc" in native, native
        assert launcher.poll() is None


def test_a_task_without_python_says_so():
    with lasting_run(command=("sh", "-c", "echo begun; exec sleep 1000")):
        done = tfrun("stacks", "worker:0")
    assert (done.returncode, done.stdout) == (1, "worker:0: has no Python process\n")


# Worker 0 can print its stacks, worker 1 has not provided for it, worker 2 is stopped.
PRINTS = """
import faulthandler, os, signal, threading
def all_reduce():
    threading.Event().wait()
if "worker-1-" not in os.environ["TFMESOS_TASK_ID"]:
    faulthandler.register(signal.SIGRTMAX)
print(f"begun {os.environ['TFMESOS_TASK_ID']} {os.getpid()}", flush=True)
threading.Thread(target=all_reduce, daemon=True).start()
all_reduce()
"""


@pytest.fixture
def no_py_spy(tmp_path, monkeypatch):
    """A Python that has none beside it, and a PATH without one."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(os.path.isdir, sys.path)]))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))


def stacks_of_tasks():
    answers = json.loads(tfrun("stacks", "--json").stdout)
    return sorted(answers, key=lambda answer: answer["task"])


def are_waiting(first, second, _):
    """Both threads of the first, and the second: they have begun only."""
    frames = [frame for thread in first.get("threads", ()) for frame in thread["frames"]]
    is_sleeping = second["state"] == "S (sleeping)"
    return frames.count(["all_reduce", "train.py", 4, True]) == 2 and is_sleeping


def test_without_py_spy_a_process_prints_its_stacks_if_it_can_and_none_is_harmed(
    no_py_spy, tmp_path
):
    program = tmp_path / "train.py"
    program.write_text(PRINTS)
    with running_tfrun("-w", 3, "--", sys.executable, str(program)) as launcher:
        begun = [f"[worker:{number}] begun" for number in range(3)]
        pids = dict(line.split()[2:] for line in read_until(launcher.stdout, *begun))
        (stopped,) = (int(pid) for task, pid in pids.items() if "worker-2-" in task)
        os.kill(stopped, signal.SIGSTOP)
        wait_until("all of them wait", lambda: are_waiting(*stacks_of_tasks()))
        first, *others = stacks_of_tasks()
        assert "worker:0: all_reduce at train.py:4\n    wait at threading.py:" in (
            tfrun("stacks").stdout
        )
        (main,) = [thread for thread in first["threads"] if thread["is_main"]]
        assert main["frames"][-1] == ["<module>", "train.py", 9, True]
        for answer, state in zip(others, ("S (sleeping)", "T (stopped)"), strict=True):
            assert "pip install py-spy" in answer["problem"] and answer["state"] == state
        assert all(exists(int(pid)) for pid in pids.values())
        os.kill(stopped, signal.SIGCONT)
        launcher.terminate()
        assert launcher.wait(HANG) == 143


def test_without_py_spy_the_function_of_an_entry_prints_its_stacks_but_no_c_frames(
    no_py_spy, tmp_path
):
    (tmp_path / "train.py").write_text(PRINTS.replace("faulthandler.register", "print"))
    with running_tfrun("-w", 1, "--entry", "train:main", cwd=tmp_path) as launcher:
        read_until(launcher.stdout, "[worker:0] begun")
        place = "worker:0: all_reduce at train.py:4\n"
        wait_until("it waits", lambda: place in tfrun("stacks").stdout)
        native = tfrun("stacks", "--native")
        (refusal,) = native.stdout.splitlines()
        assert native.returncode == 1 and "worker:0: --native needs py-spy" in refusal
        assert launcher.poll() is None


def test_a_run_that_is_over_is_one_line_and_the_code_of_its_siblings():
    assert tfrun("-w", 2, "--", "true").returncode == 0
    (run,) = json.loads(tfrun("list", "--json").stdout)
    for words in (["stacks", run["id"]], ["exec", run["id"], "worker:0", "ls"]):
        done = tfrun(*words)
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (69, 1, ""), words
        assert done.stderr.endswith(f"run {run['id']} is over\n")


def test_a_task_that_has_ended_is_named_once():
    command = ("sh", "-c", "echo begun; [ {task_index} = 0 ] || exec sleep 1000")
    with lasting_run(command=command, tasks=2):
        said = "worker:0: is not running\n"
        wait_until("its end is known", lambda: tfrun("stacks", "worker:0").stdout == said)


def test_the_page_shows_them_at_the_press_of_a_button(page, browser, hung):  # noqa: F811
    browser.get(page)
    until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".runs tbody a")).click()
    until_text(browser, "running")
    button(browser, "Show stacks").click()
    until_text(browser, "worker:1-2 of 3: all_reduce at train.py:4")
    assert complaints(browser) == []
