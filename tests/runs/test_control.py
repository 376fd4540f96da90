"""A run is controlled over its socket: by its owner, and by nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tfmesos.runs.control import LONGEST_LINE, Control, NoAnswer, Refused, ask
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import this_process
from tfmesos.runs.run_directories import Store

NOBODY = 65534
# Goes where it is told to while it may, and asks as nobody.
AS_NOBODY = f"""
import os, socket, sys
os.chdir(sys.argv[1])
os.setgroups([])
os.setgid({NOBODY})
os.setuid({NOBODY})
with socket.socket(socket.AF_UNIX) as link:
    link.connect("control")
    try:
        link.sendall(b'{{"do": "stop"}}\\n')
    except BrokenPipeError:
        pass  # the answer is there already
    print(link.makefile().readline())
"""


@pytest.fixture
def run(tmp_path):
    return new_run(tmp_path)


def new_run(folder):
    made = Store(folder / "runs").create(lambda: "abcd")
    made.about_file.write_text(json.dumps({"began": 1.0, "launcher": to_json(this_process())}))
    return made


def controlled(run, *questions, refuses=""):
    """Ask a launcher that can only stop; what it was asked to do, and what it complained of."""
    done, complaints = [], []

    def stop(request):
        done.append(request)
        return refuses

    async def main():
        async with Control(run, {"stop": stop}, complaints.append):
            for question in questions:
                await asyncio.wait_for(asyncio.to_thread(question), HANG)

    asyncio.run(main())
    return done, complaints


def said(run, line):
    """The answer to a line of any kind."""
    with socket.socket(socket.AF_UNIX) as link:
        link.connect(str(run.socket_file))
        link.sendall(line)
        link.shutdown(socket.SHUT_WR)
        return link.makefile("rb").readline()


def test_a_command_arrives_with_all_that_belongs_to_it(run):
    done, complaints = controlled(run, lambda: ask(run, "stop", task="worker:0"))
    assert done == [{"do": "stop", "task": "worker:0"}]
    assert complaints == [] and not run.socket_file.exists()


def test_what_the_launcher_refuses_is_said_with_its_run(run):
    def question():
        with pytest.raises(Refused, match=r"^abcd: not now$") as caught:
            ask(run, "stop")
        assert caught.value.exit_code == 2

    done, _ = controlled(run, question, refuses="not now")
    assert len(done) == 1


def test_whoever_still_talks_when_the_run_has_ended_is_cut_off_without_a_word(run):
    complaints = []

    async def main(link):
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        loop.set_exception_handler(lambda _, context: complaints.append(context))

        async def stay(*_):
            begun.set()
            await asyncio.Event().wait()

        async with Control(run, {"stay": lambda _: ""}, complaints.append, {"stay": stay}):
            link.connect(str(run.socket_file))
            link.sendall(b'{"do": "stay"}\n')
            await begun.wait()

    with socket.socket(socket.AF_UNIX) as link:
        asyncio.run(main(link))
    assert complaints == []


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b'{"do": "dance"}\n', b"accepts only stop"),
        (b"{}\n", b"accepts only stop"),
        (b"[]\n", b"accepts only stop"),
        (b"stop\n", b"this is not a request"),
        (b"", b"this is not a request"),
    ],
)
def test_what_is_no_command_is_answered_and_does_nothing(run, line, words):
    answers = []
    done, _ = controlled(run, lambda: answers.append(said(run, line)))
    assert done == [] and words in answers[0]


def test_a_line_without_end_is_not_read_to_its_end(run):
    def question():
        try:
            assert said(run, b'{"do": "stop", "x": "' + b"x" * 4 * LONGEST_LINE) == b""
        except ConnectionError:
            pass  # it was closed while we were still sending

    assert controlled(run, question)[0] == []


def test_the_socket_is_for_its_owner_alone_whatever_the_umask(run):
    modes = []
    before = os.umask(0)
    try:
        controlled(run, lambda: modes.append(run.socket_file.stat().st_mode & 0o777))
    finally:
        os.umask(before)
    assert modes == [0o600]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_who_reaches_the_socket_is_refused(run):
    answers = []

    def question():
        run.path.chmod(0o711)
        run.socket_file.chmod(0o666)
        command = [sys.executable, "-I", "-c", AS_NOBODY, run.path]
        answers.append(subprocess.run(command, capture_output=True, text=True, cwd="/"))

    done, _ = controlled(run, question)
    assert done == []
    assert "the run belongs to another user" in answers[0].stdout, answers[0].stderr


def test_a_socket_may_have_a_long_path(tmp_path):
    run = new_run(tmp_path / ("x" * 120))
    done, complaints = controlled(run, lambda: ask(run, "stop"))
    assert len(done) == 1 and complaints == []
    assert sorted(path.name for path in run.path.iterdir()) == ["run.json"]


def test_a_launcher_that_cannot_listen_goes_on_and_says_so(run):
    run.socket_file.mkdir()

    def question():
        with pytest.raises(NoAnswer, match="the launcher of run abcd does not answer"):
            ask(run, "stop")
        run.socket_file.rmdir()

    done, complaints = controlled(run, question)
    assert done == [] and len(complaints) == 1
    assert complaints[0].startswith("the run cannot be controlled")


def test_a_run_that_is_over_is_not_asked(run):
    run.outcome_file.write_text('{"exit_code": 0}')
    with pytest.raises(NoAnswer, match="run abcd is over"):
        ask(run, "stop")


def test_of_a_lost_run_it_is_said_that_its_launcher_died(run):
    dead = this_process().replace(started=1)
    run.about_file.write_text(json.dumps({"began": 1.0, "launcher": to_json(dead)}))
    with pytest.raises(NoAnswer, match=r"run abcd is lost: its launcher .* died"):
        ask(run, "stop")


def test_a_request_that_is_too_long_is_refused_before_it_is_sent(run):
    def question():
        with pytest.raises(Refused, match=rf"abcd: .* at most {LONGEST_LINE} .*tfrun cp"):
            ask(run, "stop", words="x" * LONGEST_LINE)

    assert controlled(run, question) == ([], [])
