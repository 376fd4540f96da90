"""What a hung training is doing is seen from outside, whatever its tasks answer."""

from __future__ import annotations

import json
import os
import signal
import sys

import pytest
from selenium.webdriver.common.by import By

from tests.commands import tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.whole.entering import lasting_run
from tests.whole.test_page import button, complaints, page, until, until_text  # noqa: F401

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


def test_a_task_without_python_says_so():
    with lasting_run(command=("sh", "-c", "echo begun; exec sleep 1000")):
        done = tfrun("stacks", "worker:0")
    assert (done.returncode, done.stdout) == (1, "worker:0: has no Python process\n")


def test_the_page_shows_them_at_the_press_of_a_button(page, browser, hung):  # noqa: F811
    browser.get(page)
    until(browser, lambda: browser.find_element(By.CSS_SELECTOR, ".runs tbody a")).click()
    until_text(browser, "running")
    button(browser, "Show stacks").click()
    until_text(browser, "worker:1-2 of 3: all_reduce at train.py:4")
    assert complaints(browser) == []
