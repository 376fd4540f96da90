from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.runners import gone
from tfmesos.node.process.guard import Guard
from tfmesos.node.process.spawn import spawn


def run(argv: list[str], cwd: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """The exit code and the output of a command with both its streams in one pipe."""
    read_end, write_end = os.pipe()
    env = {"PATH": os.environ["PATH"], **(env or {})}
    with open(os.devnull) as nothing, open(read_end) as output, closing(Guard("x")) as guard:
        try:
            streams = (nothing.fileno(), write_end, write_end)
            child = spawn(argv, env, str(cwd), streams, guard)
        finally:
            os.close(write_end)
        return child.wait(), output.read()


def test_a_command_gets_its_arguments_environment_directory_and_streams(tmp_path):
    script = 'echo "$1 $COLOUR"; pwd; cat; echo late >&2; exit 3'
    done = run(["sh", "-c", script, "sh", "a b"], tmp_path, {"COLOUR": "red"})
    assert done == (3, f"a b red\n{tmp_path}\nlate\n")


def test_a_command_leads_a_session_of_its_own(tmp_path):
    code = "import os; print(os.getsid(0) == os.getpid())"
    assert run([sys.executable, "-c", code], tmp_path) == (0, "True\n")


def test_the_end_by_a_signal_is_negative_as_with_popen(tmp_path):
    assert run(["sh", "-c", "kill -9 $$"], tmp_path) == (-9, "")


def test_the_command_is_looked_for_on_its_own_path(tmp_path):
    tool = tmp_path / "only-here"
    tool.write_text("#!/bin/sh\necho found\n")
    tool.chmod(0o755)
    assert run(["only-here"], tmp_path, {"PATH": f"{tmp_path}:/bin"}) == (0, "found\n")
    with pytest.raises(FileNotFoundError):
        run(["only-here"], tmp_path)


@pytest.mark.parametrize(
    "argv, cwd, env, error",
    [
        (["/no/such/command"], ".", {}, FileNotFoundError),
        (["."], ".", {}, PermissionError),
        (["tr\0ue"], ".", {}, ValueError),
        (["true"], ".", {"A=B": "c"}, ValueError),
    ],
)
def test_what_cannot_be_started_is_told_in_the_words_of_python(tmp_path, argv, cwd, env, error):
    with pytest.raises(error):
        run(argv, tmp_path / cwd, env)


def test_a_directory_that_cannot_be_entered_is_not_blamed_on_the_command(tmp_path):
    with pytest.raises(ValueError, match=r"^cannot enter /no/such: No such file or directory$"):
        run(["true"], Path("/no/such"))


def test_nothing_that_is_open_here_is_open_there(tmp_path):
    with open(tmp_path / "secret", "w") as file:
        os.set_inheritable(file.fileno(), True)
        code, output = run(["sh", "-c", "ls -l /proc/self/fd"], tmp_path)
    assert code == 0
    assert "secret" not in output


def test_a_broken_pipe_kills_a_command_as_in_a_shell(tmp_path):
    assert run(["sh", "-c", "kill -PIPE $$; echo went on"], tmp_path) == (-13, "")


PARENT = """
import os, sys
from tfmesos.node.process.spawn import spawn

class NoGuard:
    def began(self, leader): pass

with open(os.devnull, "r+") as nothing:
    child = spawn(["sleep", "600"], os.environ, "/", (nothing.fileno(),) * 3, NoGuard())
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""


def test_a_command_ends_with_its_parent_although_no_guard_is_left():
    parent = subprocess.run([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    assert parent.returncode == -9
    assert gone(int(parent.stdout), HANG)
