"""The owner of a run runs commands inside its tasks, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.commands import read_until, running_tfrun, tfrun
from tests.mesos.genuine.conftest import unavailable
from tests.runners import gone
from tests.terminal import PROMPT, TFRUN, is_available, terminal
from tests.whole.entering import BEGUN, INSIDE, LASTING, check_full_screen, inside, lasting_run

BYTES = {"text": False, "bufsize": -1}


@pytest.fixture
def a_run():
    with lasting_run() as launcher:
        yield launcher


def test_a_command_has_the_directory_environment_pipes_and_exit_code_it_should(tmp_path):
    data = os.urandom(3_000_000)
    with lasting_run("--env", "COLOUR=green", cwd=tmp_path):
        script = 'echo "$COLOUR $TFMESOS_TASK_DIR"; pwd; echo to-stderr >&2; exit 7'
        done = inside("exec", "worker:0", "--", "sh", "-c", script)
        colour, place = done.stdout.decode().split("\n")[:2]
        assert (done.returncode, colour.split()[0], place) == (7, "green", str(tmp_path))
        assert b"to-stderr" in done.stderr
        assert inside("exec", "worker:0", "cat", stdin=data).stdout == data
        killed = inside("exec", "worker:0", "--", "sh", "-c", "kill -KILL $$")
        assert killed.returncode == 137
        early = inside("exec", "worker:0", "head", "-c", 3, stdin=data)
        assert (early.returncode, early.stdout) == (0, data[:3])


def test_output_that_another_program_has_made_non_blocking_is_written_to_its_end(a_run):
    theirs, ours = os.pipe()
    os.set_blocking(ours, False)
    command = ("exec", "worker:0", "head", "-c", 3_000_000, "/dev/zero")
    with running_tfrun(*command, stdout=ours) as caller:
        os.close(ours)
        with open(theirs, "rb") as pipe:
            assert pipe.read() == bytes(3_000_000)
        assert caller.wait(HANG) == 0, caller.stderr.read()


def test_what_cannot_be_entered_is_refused_in_one_line(a_run):
    missing = tfrun("exec", "worker:0", "no-such-command")
    assert missing.returncode == 127 and "no such command: no-such-command" in missing.stderr
    unknown = tfrun("exec", "worker:5", "ls")
    assert unknown.returncode == 2 and "worker:5" in unknown.stderr
    for words in (["exec"], ["exec", "worker:0"], ["exec", "-t", "worker:0"]):
        assert tfrun(*words).returncode == 2, words
    assert "Traceback" not in missing.stderr + unknown.stderr


@pytest.mark.parametrize("place", ["command line", "job file", "profile"])
def test_a_run_that_forbids_it_is_not_entered_and_says_why(place, tmp_path):
    (tmp_path / "job.json").write_text(
        '{"allow_exec": false, "jobs": {"worker": {"num": 1, "cmd": "echo begun; sleep 1000"}}}'
    )
    config = Path(os.environ["XDG_CONFIG_HOME"]) / "tfmesos" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[profiles.closed]\nallow_exec = false\n")
    flags = {
        "command line": ("-w", 1, "--no-exec", "--", *LASTING),
        "job file": (tmp_path / "job.json",),
        "profile": ("--profile", "closed", "-w", 1, "--", *LASTING),
    }[place]
    with running_tfrun(*flags) as launcher:
        read_until(launcher.stdout, BEGUN)
        for words in (
            ("exec", "worker:0", "ls"),
            ("cp", "worker:0:/etc/passwd", "-"),
            ("forward", "worker:0:80"),
        ):
            done = tfrun(*words)
            assert done.returncode == 2 and "--no-exec" in done.stderr, done.stderr
        assert tfrun("stacks").stdout == "worker:0: has no Python process\n"
        launcher.terminate()
        launcher.wait(HANG)


def test_only_the_command_line_is_recorded(a_run):
    assert inside("exec", "worker:0", "cat", stdin=b"typed").stdout == b"typed"
    a_run.terminate()
    a_run.wait(HANG)  # a thread writes the record, which is complete then
    files = [path for path in Path(os.environ["XDG_STATE_HOME"]).rglob("*") if path.is_file()]
    recorded = "".join(path.read_text(errors="replace") for path in files)
    assert "worker:0: tfrun exec cat" in recorded and "typed" not in recorded


def test_it_ends_with_its_caller_and_leaves_not_even_what_left_its_session(a_run, tmp_path):
    script = f"setsid sleep 1000 & echo $! $$ > {tmp_path}/pids; echo begun; wait; sleep 1000"
    with running_tfrun("exec", "worker:0", "--", "sh", "-c", script) as caller:
        assert caller.stdout.readline() == "begun\n"
        caller.kill()
        pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
        assert all(gone(pid) for pid in pids)
    assert inside("exec", "worker:0", "echo", "still here").stdout == b"still here\n"


def test_it_ends_with_its_task(tmp_path):
    command = ("sh", "-c", f"echo begun; until [ -e {tmp_path}/end ]; do sleep 0.05; done")
    with lasting_run(command=command) as launcher:
        with running_tfrun("exec", "worker:0", "--", "sh", "-c", "echo $$; sleep 1000") as caller:
            pid = int(caller.stdout.readline())
            (tmp_path / "end").touch()
            assert caller.wait(HANG) == 137
            assert "its task has ended" in caller.stderr.read()
            assert gone(pid)
        assert launcher.wait(HANG) == 0


def test_a_caller_that_is_stopped_holds_up_neither_its_task_nor_others(tmp_path):
    note = f"echo $i > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/n"  # whole at any time
    script = f"i=0; {note}; echo begun; while sleep 0.05; do i=$((i+1)); {note}; done"
    with lasting_run(command=("sh", "-c", script)):
        with running_tfrun("exec", "worker:0", "--", "cat", "/dev/zero", **BYTES) as caller:
            assert caller.stdout.read(1_000_000) == bytes(1_000_000)
            caller.send_signal(signal.SIGSTOP)
            done = inside("exec", "worker:0", "--", "sh", "-c", f"cat {tmp_path}/n; sleep 0.5")
            before = int(done.stdout)
            assert int(inside("exec", "worker:0", "cat", tmp_path / "n").stdout) > before
            caller.send_signal(signal.SIGCONT)
            assert caller.stdout.read(1_000_000) == bytes(1_000_000)


@pytest.mark.parametrize("victim", ["launcher", "runner"])
def test_whoever_is_killed_while_commands_and_copies_are_under_way_nothing_is_left(
    victim, tmp_path
):
    """The fixture of all tests looks for processes; here are those of the command named."""
    place = tmp_path / "task"
    place.mkdir()
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(100_000_000_000)
    command = ("sh", "-c", "echo begun; echo $PPID > runner; exec sleep 1000")
    with running_tfrun("-w", 1, "--", *command, cwd=place) as launcher:
        assert "begun" in launcher.stdout.readline()
        script = "setsid sleep 1000 & echo $! $$; wait"
        with running_tfrun("exec", "worker:0", "--", "sh", "-c", script) as caller:
            pids = [int(word) for word in caller.stdout.readline().split()]
            with running_tfrun("cp", tmp_path / "huge", "worker:0:half") as copying:
                while not any(".tfrun-" in name for name in os.listdir(place)):
                    assert copying.poll() is None, copying.stderr.read()
                    time.sleep(0.05)
                runner = int((place / "runner").read_text())
                os.kill(launcher.pid if victim == "launcher" else runner, signal.SIGKILL)
                assert copying.wait(HANG) != 0
                assert caller.wait(HANG) != 0
        assert all(gone(pid) for pid in [*pids, runner])
        launcher.wait(HANG)
    while any(".tfrun-" in name for name in os.listdir(place)):
        time.sleep(0.05)  # its guard removes it when the runner is gone
    assert "half" not in os.listdir(place)


@pytest.fixture
def tmux():
    if not is_available():
        unavailable("tmux or bash is not installed")


def test_a_shell_has_a_real_terminal_with_size_signals_jobs_and_full_screen(tmux, tmp_path):
    with lasting_run(cwd=tmp_path), terminal(columns=90, rows=20) as tty:
        tty.type(f"{TFRUN} exec -t worker:0 env PS1='{INSIDE}' bash --norc")
        tty.until(lambda screen: screen.endswith(INSIDE))
        tty.type("stty size")
        tty.until(lambda screen: "20 90" in screen and screen.endswith(INSIDE))
        tty.resize(70, 15)
        tty.type("clear; until stty size | grep -x '15 70'; do sleep 0.1; done")
        tty.until(lambda screen: screen.startswith("15 70"))
        tty.type("sh -c 'echo go$((1+1)); exec sleep 1000'")
        tty.until(lambda screen: "go2" in screen)
        tty.press("C-z")
        tty.until(lambda screen: "Stopped" in screen)
        tty.type("clear")
        tty.until(lambda screen: screen == INSIDE)
        tty.type("fg")
        tty.until(lambda screen: "sleep 1000" in screen)
        tty.press("C-c")
        tty.until(lambda screen: screen.endswith(INSIDE))
        tty.type("echo code=$?")
        tty.until(lambda screen: "code=130" in screen)
        check_full_screen(tty)
        tty.type("exit 5")
        tty.until(lambda screen: screen.endswith(PROMPT))
        tty.type("echo left=$?; stty -a | grep -o ' icanon'")
        tty.until(lambda screen: "left=5" in screen and "icanon" in screen)


def test_a_terminal_whose_caller_was_stopped_is_as_it_was_when_the_caller_goes_on(tmux, a_run):
    caller = f"CALLER={os.getpid()} bash"  # and not that of a test beside this one
    with terminal(columns=90, rows=20) as tty:
        tty.type(f"{TFRUN} exec -t worker:0 env PS1='{INSIDE}' {caller} --norc")
        tty.until(lambda screen: screen.endswith(INSIDE))
        for name in ("TSTP", "STOP"):
            tty.type(f"clear; kill -{name} $(pgrep -f '[{caller[0]}]{caller[1:]}')")
            tty.until(lambda screen: "Stopped" in screen and screen.endswith(PROMPT))
            tty.type("clear; stty -a | grep -o ' icanon'; stty raw -echo; stty cooked echo")
            tty.until(lambda screen: screen.startswith(" icanon") and screen.endswith(PROMPT))
            columns = 70 if name == "TSTP" else 80
            tty.resize(columns, 15)
            assert inside("exec", "worker:0", "echo", "here").stdout == b"here\n"
            tty.type("clear; fg")
            tty.until(lambda screen: "exec -t worker:0" in screen)
            tty.type("clear; stty size; sh -c 'echo go$((1+1)); exec sleep 1000'")
            tty.until(lambda screen, size=f"15 {columns}": size in screen and "go2" in screen)
            tty.press("C-c")  # goes inside only if the terminal is raw
            tty.until(lambda screen: screen.endswith(INSIDE))
        tty.type("exit 5")
        tty.until(lambda screen: screen.endswith(PROMPT))
        tty.type("echo left=$?")
        tty.until(lambda screen: "left=5" in screen)


def test_a_shell_that_is_hung_up_ends_and_the_terminal_is_as_before(tmux, a_run, tmp_path):
    with terminal() as tty:
        tty.type(f"{TFRUN} exec -t worker:0 -- sh -c 'echo $$ > {tmp_path}/pid; exec sleep 1000'")
        tty.until(lambda _: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text().strip())
        a_run.terminate()
        a_run.wait(HANG)
        tty.until(lambda screen: screen.endswith(PROMPT))
        assert gone(int((tmp_path / "pid").read_text()))
        tty.type("stty -a | grep -o ' icanon'")
        tty.until(lambda screen: "icanon" in screen.replace("grep -o ' icanon'", ""))
