"""Files are copied out of a running task and into it, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from tests.bounds import HANG
from tests.commands import read_until, running_tfrun, tfrun
from tests.disks import small_disk
from tests.mesos.genuine.conftest import unavailable
from tests.terminal import TFRUN, is_available, terminal
from tests.whole.entering import inside, lasting_run
from tfmesos.text import size_text


@pytest.fixture
def task(tmp_path):
    """The directory of a task that runs."""
    place = tmp_path / "task"
    place.mkdir()
    with lasting_run(cwd=place):
        yield place


def test_files_and_directories_go_both_ways_with_their_modes(task, tmp_path):
    data = os.urandom(5_000_000)
    (task / "checkpoints").mkdir()
    (task / "checkpoints" / "model").write_bytes(data)
    (task / "checkpoints" / "model").chmod(0o640)
    (task / "checkpoints" / "latest").symlink_to("model")
    local = tmp_path / "local"
    assert tfrun("cp", "worker:0:checkpoints", local).returncode == 0
    assert hashlib.sha256((local / "model").read_bytes()).digest() == hashlib.sha256(data).digest()
    assert (local / "model").stat().st_mode & 0o777 == 0o640
    assert os.readlink(local / "latest") == "model"
    assert tfrun("cp", local, "worker:0:.").returncode == 0
    assert (task / "local" / "model").read_bytes() == data
    assert tfrun("cp", local / "model", f"worker:0:{task}/again").returncode == 0
    assert (task / "again").read_bytes() == data
    assert inside("cp", "worker:0:again", "-").stdout == data
    assert inside("cp", "-", "worker:0:piped", stdin=data).returncode == 0
    assert (task / "piped").read_bytes() == data
    assert sorted(os.listdir(task)) == ["again", "checkpoints", "local", "piped"]


def test_what_is_left_out_is_named_whichever_way_it_is_copied(task, tmp_path):
    for place in (tmp_path, task):
        (place / "tree" / "sub").mkdir(parents=True)
        (place / "tree" / "sub" / "out").symlink_to("/etc/passwd")
        os.mkfifo(place / "tree" / "pipe")
        (place / "tree" / "data").touch()
    for words, made in (
        (["worker:0:tree", tmp_path / "made"], tmp_path / "made"),
        ([tmp_path / "tree", "worker:0:made"], task / "made"),
    ):
        done = tfrun("cp", *words)
        left_out = [line.split(": ")[-1] for line in done.stderr.splitlines()[1:]]
        assert (done.returncode, sorted(left_out)) == (0, ["pipe", "sub/out"]), done.stderr
        assert sorted(os.listdir(made)) == ["data", "sub"]


def test_what_cannot_be_copied_is_one_line_and_leaves_nothing(task, tmp_path):
    (task / "there").mkdir()
    (task / "file").touch()
    listening = str(tmp_path.parent / "socket")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(listening)
    for source, target, words in [
        ("worker:0:missing", str(tmp_path / "x"), "missing: No such file"),
        ("worker:0:there", "-", "is a directory"),
        ("worker:0:there", str(tmp_path / "none" / "x"), "there is no directory"),
        (str(tmp_path / "none"), "worker:0:x", "none does not exist"),
        (str(tmp_path), "worker:0:there/none/x", "there is no directory"),
        ("-", "worker:0:there/none/x", "there is no directory"),
        ("-", "worker:0:/proc/none", "/proc/none: "),
        (str(tmp_path), "worker:0:file", "file exists"),
        ("worker:0:there", str(task / "file"), "file exists"),
        ("worker:0:/dev/null", str(tmp_path / "x"), "neither a file nor a directory"),
        (f"worker:0:{listening}", str(tmp_path / "x"), "neither a file nor a directory"),
        (listening, "worker:0:x", "neither a file nor a directory"),
    ]:
        done = tfrun("cp", source, target)
        assert (done.returncode, words in done.stderr) == (1, True), (source, done.stderr)
        assert "Traceback" not in done.stderr and ".tfrun-" not in done.stderr, done.stderr
    assert tfrun("cp", "a", "b").returncode == 2
    assert tfrun("cp", "worker:0:a", "worker:0:b").returncode == 2
    assert (sorted(os.listdir(task)), os.listdir(tmp_path)) == (["file", "there"], ["task"])


def test_what_is_in_the_way_of_a_directory_is_found_before_it_is_sent(task, tmp_path):
    (tmp_path / "many").mkdir()
    with open(tmp_path / "many" / "huge", "wb") as huge:
        huge.truncate(100_000_000_000)
    (task / "file").touch()
    for words in (
        [tmp_path / "many", "worker:0:file"],
        [f"worker:0:{tmp_path}/many", task / "file"],
    ):
        done = tfrun("cp", *words)
        assert (done.returncode, "file exists" in done.stderr) == (1, True), done.stderr


@pytest.mark.parametrize("words, closed", [("- worker:0:made", "<&-"), ("worker:0:data -", ">&-")])
def test_a_closed_standard_stream_is_no_empty_file(task, words, closed):
    (task / "data").write_bytes(b"data")
    command = f"{sys.executable} -m tfmesos cp {words} {closed}"
    done = subprocess.run(["sh", "-c", command], capture_output=True, timeout=HANG)
    said = done.stderr.decode().splitlines()[1:]  # the first names the run
    assert (done.returncode, [line.endswith(" is closed") for line in said]) == (1, [True]), said
    assert os.listdir(task) == ["data"]


def test_a_terminal_shows_how_much_was_copied_and_a_pipe_does_not(task, tmp_path):
    if not is_available():
        unavailable("tmux or bash is not installed")
    (task / "data").write_bytes(bytes(3_000_000))
    with terminal() as tty:
        tty.type(f"{TFRUN} cp worker:0:data {tmp_path}/copied")
        tty.until(lambda screen: f"tfrun: {size_text(3_000_000)}, " in screen and "/s\n" in screen)
    assert "/s" not in tfrun("cp", "worker:0:data", tmp_path / "again").stderr


def test_input_that_cannot_be_read_is_no_empty_file(task, tmp_path):
    with open(tmp_path / "for writing only", "wb") as file:
        with running_tfrun("cp", "-", "worker:0:made", stdin=file) as copying:
            assert copying.wait(HANG) == 1
            assert "cannot read standard input: Bad file descriptor" in copying.stderr.read()
    while os.listdir(task):  # the test times out if it stays
        time.sleep(0.05)


def test_a_caller_that_is_killed_leaves_no_half_file_at_either_end(task, tmp_path):
    with open(task / "huge", "wb") as huge:
        huge.truncate(100_000_000_000)
    for words in (["worker:0:huge", tmp_path / "half"], [task / "huge", "worker:0:half"]):
        with running_tfrun("cp", *words) as copying:
            while not coming(tmp_path) + coming(task):
                assert copying.poll() is None, copying.stderr.read()
                time.sleep(0.05)
            copying.kill()
        while coming(tmp_path) + coming(task):  # the test times out if it stays
            time.sleep(0.05)
        assert (os.listdir(task), os.listdir(tmp_path)) == (["huge"], ["task"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this machine")
def test_a_full_disk_at_the_end_of_a_pipe_is_said(task):
    (task / "data").write_bytes(bytes(1_000_000))
    with open("/dev/full", "wb") as full:
        with running_tfrun("cp", "worker:0:data", "-", stdout=full) as copying:
            assert copying.wait(HANG) == 74
            assert "No space left" in copying.stderr.read()


def test_a_reader_who_has_enough_ends_a_copy_as_any_pipe_without_a_word(task):
    (task / "data").write_bytes(bytes(1_000_000))
    with running_tfrun("cp", "worker:0:data", "-") as copying:
        assert copying.stdout.read(10) == "\0" * 10
        copying.stdout.close()
        assert copying.wait(HANG) == 141
        assert copying.stderr.read().count("\n") == 1  # the run that was chosen


def test_a_full_disk_at_either_end_is_one_line_and_has_nothing_of_the_copy(task, tmp_path):
    data = bytes(3_000_000)
    (tmp_path / "big").write_bytes(data)
    (task / "many").mkdir()
    for number in range(3):
        (task / "many" / f"{number}").write_bytes(data[:700_000])
    with small_disk(tmp_path / "tiny") as tiny:
        for source, target in [
            (f"worker:0:{tmp_path}/big", tiny),
            ("worker:0:many", tiny),
            (tmp_path / "big", f"worker:0:{tiny}/"),
            (task / "many", f"worker:0:{tiny}/copy"),
            ("-", f"worker:0:{tiny}/piped"),
        ]:
            done = inside("cp", source, target, stdin=data)
            chosen, words = done.stderr.decode().splitlines()  # the first names the run
            assert (done.returncode, chosen[:11]) == (1, "tfrun: run "), words
            assert words.endswith(": No space left on device") and str(tiny) in words, words
            assert os.listdir(tiny) == [], (source, target)
        assert tfrun("cp", task / "many" / "0", f"worker:0:{tiny}/fits").returncode == 0
        assert (tiny / "fits").read_bytes() == data[:700_000]


TALKS = "echo begun; i=0; while sleep 0.05; do i=$((i+1)); echo line $i; done"


def test_a_copy_that_is_stopped_delays_no_output_and_goes_on_later(tmp_path):
    size, place = 200_000_000, tmp_path / "task"
    place.mkdir()
    with open(tmp_path / "large", "wb") as large:
        large.truncate(size)
    with lasting_run(command=("sh", "-c", TALKS), cwd=place) as launcher:
        for words, made in (
            ([tmp_path / "large", "worker:0:in"], place / "in"),
            ([f"worker:0:{tmp_path}/large", tmp_path / "out"], tmp_path / "out"),
        ):
            with running_tfrun("cp", *words) as copying:
                while not coming(made.parent):
                    assert copying.poll() is None, copying.stderr.read()
                    time.sleep(0.005)
                copying.send_signal(signal.SIGSTOP)
                assert inside("exec", "worker:0", "echo", "here").stdout == b"here\n"
                last = int(read_until(launcher.stdout, "line ")[-1].split()[-1])
                read_until(launcher.stdout, f"line {last + 20}\n")
                assert not made.exists()
                copying.send_signal(signal.SIGCONT)
                assert copying.wait(HANG) == 0, copying.stderr.read()
            assert made.stat().st_size == size
            made.unlink()


def test_a_copy_that_is_interrupted_leaves_no_half_file_at_either_end(task, tmp_path):
    with open(task / "huge", "wb") as huge:
        huge.truncate(100_000_000_000)
    for words in (["worker:0:huge", tmp_path / "half"], [task / "huge", "worker:0:half"]):
        with running_tfrun("cp", *words) as copying:
            while not coming(tmp_path) + coming(task):
                assert copying.poll() is None, copying.stderr.read()
                time.sleep(0.05)
            copying.send_signal(signal.SIGINT)
            assert copying.wait(HANG) == 130
        while coming(task):  # the runner hears of it when its link has taken what was sent before
            time.sleep(0.05)
        assert (os.listdir(task), os.listdir(tmp_path)) == (["huge"], ["task"])


def test_a_copy_ends_with_its_task_and_says_so_whichever_way_it_goes(tmp_path):
    place = tmp_path / "task"
    place.mkdir()
    with open(tmp_path / "huge", "wb") as huge:
        huge.truncate(100_000_000_000)
    for words in (["worker:0:../huge", tmp_path / "half"], [tmp_path / "huge", "worker:0:half"]):
        waits = "echo begun; until [ -e ../end ]; do sleep 0.05; done"
        with lasting_run(command=("sh", "-c", waits), cwd=place) as launcher:
            with running_tfrun("cp", *words) as copying:
                while not coming(tmp_path) + coming(place):
                    assert copying.poll() is None, copying.stderr.read()
                    time.sleep(0.05)
                (tmp_path / "end").touch()
                assert copying.wait(HANG) == 1
                assert "worker:0: its task has ended" in copying.stderr.read()
            assert launcher.wait(HANG) == 0
        while coming(tmp_path) + coming(place):  # the test times out if it stays
            time.sleep(0.05)
        (tmp_path / "end").unlink()
        assert (os.listdir(place), sorted(os.listdir(tmp_path))) == ([], ["huge", "task"])


def coming(place):
    return [name for name in os.listdir(place) if ".tfrun-" in name]
