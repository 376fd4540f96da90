"""Standard input, and the task that reads it."""

import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import (
    environment,
    finish,
    read_until,
    running_tfrun,
    tfrun,
    without_waits,
)

IGNORED = "tfrun: no task reads standard input, except with --local-chief\n"


@pytest.mark.parametrize(
    "source, flags, said",
    [
        (b"some data\n", (), IGNORED),
        (b"", (), ""),
        (None, (), ""),
        (b"some data\n", ("--local-chief",), ""),
    ],
)
def test_input_that_nobody_reads_is_mentioned(source, flags, said):
    code = "import sys, time; print(sys.stdin.read()); time.sleep(0.5)"
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", *flags, "-w", "1", "--", sys.executable, "-c", code],
        **({"stdin": subprocess.DEVNULL} if source is None else {"input": source}),
        capture_output=True,
        env=environment(),
        timeout=HANG,
    )
    assert (done.returncode, without_waits(done.stderr.decode())) == (0, said)
    assert (b"some data" in done.stdout) == bool(flags)


def test_a_file_as_input_is_mentioned_unless_it_is_empty(tmp_path):
    for text, said in (("x", IGNORED), ("", "")):
        (tmp_path / "input").write_text(text)
        with open(tmp_path / "input") as file:
            with running_tfrun("-w", 1, "--", "sleep", "0.5", stdin=file) as run:
                out, err = finish(run)
            assert (out, without_waits(err)) == ("", said)


LOOP = "while read name; do {tfrun} {flags} -w 1 -- echo $name; done"


@pytest.mark.parametrize("source", ["| {loop}", "< list.txt"])
@pytest.mark.parametrize(("flags", "is_said"), [("", False), ("-v", True)])
def test_the_input_of_a_loop_around_is_mentioned_only_at_v(tmp_path, source, flags, is_said):
    (tmp_path / "list.txt").write_text("one\ntwo\n")
    loop = LOOP.format(tfrun=f"{sys.executable} -m tfmesos", flags=flags)
    script = f"cat list.txt | {loop}" if "loop" in source else f"{loop} < list.txt"
    done = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, cwd=tmp_path, env=environment()
    )
    assert done.stdout == "[worker:0] one\n[worker:0] two\n", done.stderr
    assert ("standard input" in done.stderr) is is_said


HERE = "[ {job_name} = ps ] && exec sleep 600; [ {task_index} = 1 ] || { read line; echo $line; }"


def test_the_local_chief_reads_the_keyboard_and_writes_to_the_screen_itself():
    done = subprocess.run(
        [sys.executable, "-m", "tfmesos", "--local-chief", "-w", "2", "-s", "1", "--", HERE],
        input="typed\n",
        capture_output=True,
        text=True,
        env=environment(),
    )
    assert (done.returncode, done.stdout) == (0, "typed\n")


def test_the_end_of_the_local_chief_is_reported_like_any_other():
    done = tfrun("--local-chief", "-w", 1, "--", "sh", "-c", "exit 5")
    assert done.returncode == 5
    assert without_waits(done.stderr) == "tfrun: worker:0 exited with 5 on this machine\n"


def test_the_local_chief_is_stopped_with_the_others():
    script = "[ {task_index} = 1 ] && exit 6; sleep 600"
    done = tfrun("--local-chief", "-w", 2, "--", "sh", "-c", script)
    assert done.returncode == 6 and "ended after it" not in done.stderr


def test_a_killed_launcher_takes_its_local_chief_with_it():
    script = "echo up; sleep 600"
    with running_tfrun("-w", 2, "--local-chief", "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:1] up")
        run.kill()
