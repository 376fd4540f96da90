"""A long run as its user lives it: left, found again, looked at and ended from another shell."""

import json
import os
import re
from contextlib import ExitStack

import psutil
import pytest

from tests.bounds import HANG
from tests.mesos.genuine.conftest import unavailable
from tests.runners import gone
from tests.terminal import PROMPT, TFRUN, is_available, terminal
from tfmesos.runs.run_directories import Store, runs_root

TRAIN = """
trap 'sleep 6; echo saved step $n; exit 0' TERM
n=0
while :; do n=$((n + 1)); echo step $n; sleep 0.2 & wait; done
"""


class Shell:
    """A terminal in which one command is given after another."""

    def __init__(self, opened):
        self._terminal = opened
        self.type, self.press = opened.type, opened.press
        self.run(f'tfrun() {{ {TFRUN} "$@"; }}')

    def shown(self):
        return self._terminal.screen(history=True)

    def until(self, condition):
        return self._terminal.until(condition, history=True)

    def shows(self, *texts):
        return self.until(lambda screen: all(text in screen for text in texts))

    def run(self, line):
        """What the command showed until the shell waited for the next one."""
        typed = f"{PROMPT}{line}\n"
        before = self.shown().count(typed)
        self.type(line)
        screen = self.until(lambda text: text.count(typed) > before and text.endswith(PROMPT))
        return screen.rpartition(typed)[2].removesuffix(PROMPT).rstrip("\n")


@pytest.fixture
def new_shell():
    """A function that opens a terminal; they are closed with the test, if not before."""
    if not is_available():
        unavailable("no terminals: apt install tmux bash")
    with ExitStack() as stack:
        yield lambda: Shell(stack.enter_context(terminal(200, 50)))


@pytest.fixture
def started(new_shell, tmp_path):
    """The id of a run that was started in a terminal which is closed since."""
    (tmp_path / "train.sh").write_text(TRAIN)
    with terminal(200, 50) as opened:
        shell = Shell(opened)
        shell.run(f"cd {tmp_path}")
        *said, run_id = shell.run("tfrun --detach -w 2 -- sh train.sh").splitlines()
        assert re.fullmatch("[a-z0-9]{4}", run_id), shell.shown()
        assert all(line.startswith("tfrun: waiting ") for line in said)  # on a busy machine
        launcher = launcher_of(run_id)
    yield run_id
    if launcher.is_running():
        launcher.terminate()
        launcher.wait(HANG)


def launcher_of(run_id):
    run = Store(runs_root(os.environ)).find(run_id)
    return psutil.Process(json.loads(run.about_file.read_text())["launcher"]["pid"])


def test_a_run_is_left_found_again_followed_mended_and_ended_with_grace(started, new_shell):
    shell, other = new_shell(), new_shell()
    listed = shell.run("tfrun list")
    assert re.search(rf"^{started} +running .* 2 worker +sh train.sh$", listed, re.M), listed
    shell.type(f"tfrun logs {started} -f")
    shell.shows("[worker:0] step 3", "[worker:1] step 3")
    assert "worker:1 is running again on " in other.run(f"tfrun restart {started} worker:1")
    shell.until(lambda screen: screen.count("[worker:1] step 1\n") == 2)
    assert "worker: 2 running (1 restart)" in other.run(f"tfrun status {started}")
    shell.press("C-c")
    shell.until(lambda screen: screen.endswith(PROMPT))
    stopped = other.run(f"tfrun stop {started} --stop-grace 2m; echo code $?")
    said = [f"tfrun: {started} is stopping", f"tfrun: {started} has stopped"]
    assert stopped.splitlines() == [*said, "code 0"]
    assert other.run(f"tfrun logs {started}").count("] saved step") == 2
    first, *_, last = other.run(f"tfrun wait {started}; echo code $?").splitlines()
    assert (first, last) == ("stopped by its owner", "code 130")
    assert re.search(rf"^{started} +stopped \(130\)", other.run("tfrun list"), re.M)


def test_what_a_killed_launcher_has_left_can_be_looked_at(started, new_shell):
    shell = new_shell()
    shell.type(f"tfrun attach {started}")
    shell.shows("Ctrl-C leaves it running", "[worker:0] step", "[worker:1] step")
    launcher = launcher_of(started)
    tasks = launcher.children(recursive=True)
    launcher.kill()
    assert gone(launcher.pid)
    shell.shows(f"not known how {started} ended: its launcher ", " died")
    assert all(gone(task.pid) for task in tasks)
    assert re.search(rf"^{started} +lost ", shell.run("tfrun list"), re.M)
    assert re.search(r"worker:0 +lost ", shell.run(f"tfrun status {started}"))
    assert "step 1\n" in shell.run(f"tfrun logs {started} worker:0")
    said = shell.run(f"tfrun restart {started} worker:0; echo code $?")
    assert said.startswith(f"tfrun: run {started} is lost: its launcher ")
    assert said.endswith("code 69")


def test_the_first_ctrl_c_says_what_a_second_one_does(new_shell, tmp_path):
    (tmp_path / "train.sh").write_text(TRAIN)
    shell = new_shell()
    shell.run(f"cd {tmp_path}")
    shell.type("tfrun -w 1 --stop-grace 2m -- sh train.sh | cat")
    shell.shows("[worker:0] step 2")
    shell.press("C-c")
    shell.shows("stopping worker:0; Ctrl-C again to kill")
    shell.press("C-c")
    assert "saved step" not in shell.shows("ended without waiting for worker:0", f"\n{PROMPT}")
    assert shell.run("echo ${PIPESTATUS[0]}") == "130"
