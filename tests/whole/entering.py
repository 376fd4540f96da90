"""A run whose tasks can be entered, for the tests of what its owner does inside them."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.bounds import HANG
from tests.commands import environment, read_until, running_tfrun, tfrun
from tests.mesos.genuine.conftest import unavailable
from tests.terminal import PROMPT, TFRUN, is_available, terminal

BEGUN = "begun"
INSIDE = "inside>"  # the prompt of a shell in a task
LASTING = ("sh", "-c", f"echo {BEGUN}; exec sleep 1000")


@contextmanager
def lasting_run(*flags, command=LASTING, tasks=1, **options) -> Iterator[subprocess.Popen]:
    """The launcher of a run whose *tasks* have begun; it is stopped in good order."""
    with running_tfrun("-w", tasks, *flags, "--", *command, **options) as launcher:
        begun = 0
        while begun < tasks:
            line = launcher.stdout.readline()
            assert line, launcher.stderr.read()
            begun += BEGUN in line
        yield launcher
        launcher.terminate()
        launcher.wait(HANG)


def inside(*args, stdin=b"", **options) -> subprocess.CompletedProcess:
    """A command about the inside of a task, in bytes."""
    return subprocess.run(
        [sys.executable, "-m", "tfmesos", *map(str, args)],
        input=stdin,
        capture_output=True,
        env=environment(),
        timeout=HANG,
        **options,
    )


# Where a process is: its directory, user, file system, network and task.
WHERE = """
import os
spaces = [os.readlink("/proc/self/ns/" + name) for name in ("mnt", "net", "pid")]
print(os.getcwd(), os.getuid(), os.getgid(), *spaces, os.environ["TFMESOS_TASK_ID"])
"""

# Writes where it is and where it listens into the directory of its task, and waits for ever.
SERVING = f"""
import contextlib, os, socket
with open("where", "w") as file, contextlib.redirect_stdout(file):
    exec({WHERE!r})
listener = socket.create_server(("127.0.0.1", 0))
with open("port.new", "w") as file:
    file.write(str(listener.getsockname()[1]))
os.rename("port.new", "port")
print("begun", flush=True)
def answer_for_ever():
    while True:
        connection, _ = listener.accept()
        with connection:
            connection.sendall(b"hello from inside")
answer_for_ever()
"""


def check_inside(*flags, tmp_path, python="python3", has_editor=False) -> None:
    """On any engine: exec, cp, forward and stacks reach the tasks of a run with these *flags*.

    *has_editor*: do they see the programs of this machine?
    """
    with lasting_run(*flags, command=(python, "-c", SERVING)):
        done = inside(
            "exec", "worker:0", "--", "sh", "-c", "cat; echo $TF_CONFIG >&2; exit 9", stdin=b"x"
        )
        assert (done.returncode, done.stdout) == (9, b"x"), done.stderr
        data = os.urandom(1_000_000)
        (tmp_path / "data").write_bytes(data)
        assert inside("cp", tmp_path / "data", "worker:0:copied").returncode == 0
        assert inside("cp", "worker:0:copied", "-").stdout == data
        there = inside("exec", "worker:0", python, "-c", WHERE)
        assert there.stdout == inside("cp", "worker:0:where", "-").stdout != b"", there.stderr
        check_terminal(python, has_editor)
        port = int(inside("cp", "worker:0:port", "-").stdout)
        with running_tfrun("forward", f"worker:0:{port}") as forward:
            while "forwarded to" not in (line := forward.stderr.readline()):
                assert line, "tfrun forward has ended"
            local = int(re.search(r"127\.0\.0\.1:(\d+) is", line)[1])
            with socket.create_connection(("127.0.0.1", local), HANG) as connection:
                assert connection.makefile("rb").read() == b"hello from inside"
        stacks = inside("stacks", "worker:0")
        found = b"answer_for_ever" in stacks.stdout
        is_forbidden = b"worker:0: py-spy: " in stacks.stdout  # to read another process there
        assert found or is_forbidden, (stacks.stdout, stacks.stderr)


def check_terminal(python, has_editor) -> None:
    """exec -t has a terminal of the right size, and ends with the code of its command."""
    if not is_available():
        unavailable("tmux or bash is missing: apt-get install tmux bash")
    look = "import os; print(*os.get_terminal_size()); input(); exit(7)"
    with terminal(columns=93, rows=21) as tty:
        tty.type(f"clear; {TFRUN} exec -t worker:0 {python} -c {shlex.quote(look)}")
        tty.until(lambda screen: "93 21" in screen)
        tty.press("Enter")
        tty.until(lambda screen: screen.endswith(PROMPT))
        tty.type("echo left=$?")
        tty.until(lambda screen: "left=7" in screen)
        if has_editor:
            tty.type(f"{TFRUN} exec -t worker:0 env PS1='{INSIDE}' sh")
            tty.until(lambda screen: screen.endswith(INSIDE))
            check_full_screen(tty)


def check_full_screen(tty) -> None:
    """In a shell inside a task, vim writes a file and top shows what runs."""
    missing = [name for name in ("vim", "top") if not shutil.which(name)]
    if missing:
        unavailable(f"{missing} are not installed")
    tty.type("clear; vim -n -u NONE text")
    tty.until(lambda screen: "~" in screen)
    tty.press("i")
    tty.type("written inside")
    tty.press("Escape")
    tty.type(":wq")
    tty.until(lambda screen: screen.endswith(INSIDE))
    tty.type("clear; cat text")
    tty.until(lambda screen: screen.startswith("written inside"))
    tty.type("clear; top")
    tty.until(lambda screen: "load average" in screen)
    tty.press("q")
    tty.until(lambda screen: screen.endswith(INSIDE))


def check_failure(*flags, tmp_path) -> None:
    """On any engine: a task that passes the check of its node, and fails, is held for its owner."""
    check = ("--env", "WORD=fit", "--check", '[ "$WORD" = fit ]', "--pause-on-failure")
    command = ("sh", "-c", "echo begun > left; exit 7")
    with running_tfrun("-w", 1, *flags, *check, "--", *command, cwd=tmp_path) as run:
        (*_, said) = read_until(run.stderr, "is held")
        assert "exited with 7" in said
        assert inside("exec", "worker:0", "cat", "left").stdout == b"begun\n"
        assert inside("cp", "worker:0:left", "-").stdout == b"begun\n"
        assert tfrun("continue").returncode == 0
        assert run.wait(HANG) == 7
    done = tfrun("-w", 1, *flags, "--env", "WHY=no-GPU", "--check", "! echo $WHY", "--", "true")
    assert done.returncode == 220 and "exited with 1: 'no-GPU'" in done.stderr, done.stderr


def check_unfit_node(*flags, name, tmp_path) -> None:
    """On any cluster whose nodes have this variable as their *name*: the first one is left out."""
    bad = tmp_path / "bad"
    check = f'[ -e {bad} ] || echo ${name} > {bad}; [ ${name} != "$(cat {bad})" ]'
    check = ("--check", f"{check} || ! echo no GPU here")
    done = tfrun("-w", 1, *flags, *check, "--", f"echo at ${name}")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("exited with 1: 'no GPU here'") == 1, done.stderr
    assert done.stdout.split()[-1] not in ("", bad.read_text().strip())
