"""The stub that a task starts as, and the runner that it is sent."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import hashlib
import marshal
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
from importlib.util import MAGIC_NUMBER

import pytest

from tests.bounds import HANG
from tests.ports import free_port
from tests.runners import (
    SECRET,
    TASK,
    Runner,
    another_python,
    end_at_a_late_launcher,
    environment,
    in_own_session,
    launcher,
    runner,
    settings,
)
from tests.sentences import names
from tfmesos.core.events import TaskExited, TaskReady, TaskRegistered
from tfmesos.errors import (
    BAD_SETTINGS,
    CANNOT_REACH_LAUNCHER,
    HANDSHAKE_FAILED,
    NODE_REFUSED,
    OLD_PYTHON,
)
from tfmesos.launcher.links import payload
from tfmesos.launcher.links.authentication import LauncherHandshake
from tfmesos.node import stub
from tfmesos.shared import wire
from tfmesos.shared.handshake import NOBODY

OURS = MAGIC_NUMBER.hex()


def test_the_stub_is_told_its_numbers_as_wire_has_them():
    text = payload.stub()
    challenge = {"type": "challenge", "nonce": "0" * 32, "proof": "0" * 64, "runner": "0" * 64}
    assert len(wire.encode(challenge)) == stub.CHALLENGE
    assert f"leave({BAD_SETTINGS}, " in text
    assert f"leave({CANNOT_REACH_LAUNCHER} + (link is not None)" in text
    assert CANNOT_REACH_LAUNCHER + 1 == HANDSHAKE_FAILED
    assert f"'{NOBODY}'" in text


def test_the_stub_travels_without_words_for_its_readers():
    tree = ast.parse(payload.stub())
    assert not [node for node in ast.walk(tree) if getattr(node, "annotation", None)]
    assert not [node for node in ast.walk(tree) if getattr(node, "returns", None)]
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert len(functions) > 5 and not any(map(ast.get_docstring, functions))


def test_the_command_keeps_a_strange_interpreter_path_whole():
    words = shlex.split(payload.command("/opt/my $python/bin/python3"))
    assert words[:5] == ["exec", "/opt/my $python/bin/python3", "-I", "-S", "-c"]


def run_with(sandbox, python: str, command=payload.command) -> tuple[int, list[str]]:
    async def main():
        async with launcher() as ours:
            theirs = Runner(sandbox, environment(settings(ours.address)), python, "", command)
            try:
                ours.start(["echo", "{job_name}"])
                return await theirs.exited(), ours.lines()
            finally:
                theirs.close()

    return asyncio.run(main())


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14"])
def test_a_node_may_have_any_python_from_3_8_on(tmp_path, version):
    assert run_with(tmp_path, another_python(version)) == (0, ["worker"])


@pytest.mark.parametrize("version", ["3.8", "3.13", f"3.{sys.version_info.minor}"])
def test_the_long_command_does_the_same_after_lines_of_its_own(tmp_path, version):
    lines = "import os\nos.environ['TFMESOS_RUNNER']+=''\nos.mkdir('first')\n"

    def command(python):
        return payload.long_command(python, lines)

    assert run_with(tmp_path, another_python(version), command) == (0, ["worker"])
    assert (tmp_path / "first").is_dir()


@pytest.mark.parametrize("version", ["3.6", "3.7"])
def test_an_older_python_is_named_as_the_reason(tmp_path, version):
    assert run_with(tmp_path, another_python(version)) == (OLD_PYTHON, [])
    said = (tmp_path / "stderr").read_text()
    assert names(said, "tfmesos runner: Python 3.8 or newer", f"{version}.")


def test_nothing_is_written_where_a_task_starts_and_nothing_there_gets_in_its_way(tmp_path):
    """An image's user may be unable to write to the sandbox; a json.py there is not ours."""
    (tmp_path / "json.py").write_text("raise SystemExit(99)")

    async def main():
        async with launcher() as ours:
            with runner(tmp_path, settings(ours.address), PYTHONPATH=str(tmp_path)) as theirs:
                ours.start(["true"])
                return await theirs.exited()

    assert asyncio.run(main()) == 0
    assert {entry.name for entry in tmp_path.iterdir()} == {"json.py", "stdout", "stderr"}


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_task_without_standard_streams_loses_none_of_its_connection(tmp_path, closed):
    """A connection in the place of one would get the output of the command."""

    async def main():
        async with launcher() as ours:
            env = environment(settings(ours.address))
            command = f"{payload.command(sys.executable)} {closed}"
            theirs = in_own_session(["/bin/sh", "-c", command], env=env, cwd=tmp_path)
            ours.start("echo out; cat; echo err >&2")
            await ours.saw(TaskExited)
            return ours, await asyncio.to_thread(theirs.wait, HANG)

    ours, code = asyncio.run(main())
    assert (code, ours.lines(), ours.lines("stderr")) == (0, ["out"], ["err"])
    assert [type(event) for event in ours.events] == [TaskRegistered, TaskReady, TaskExited]


def test_a_node_that_has_no_more_files_is_named_as_the_reason(tmp_path):
    """Six: the standard streams, the stub's two, one of the two that the runner's loop needs."""

    async def main():
        async with launcher() as ours:
            theirs = Runner(tmp_path, environment(settings(ours.address)), before="ulimit -n 6;")
            try:
                return await theirs.exited(), theirs.stderr
            finally:
                theirs.close()

    code, said = asyncio.run(main())
    assert code == NODE_REFUSED
    assert names(said.splitlines()[-1], "tfmesos runner: ", "node refused", ": Too many open files")


# A launcher that is gone, or goes


def nobody_listens() -> tuple[str, int]:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        return silent.getsockname()


def test_a_launcher_of_this_machine_that_has_ended_is_not_waited_for(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    values = settings(nobody_listens(), owner=ended.pid, connect_timeout=600)
    with runner(tmp_path, values) as theirs:
        assert theirs.wait() == CANNOT_REACH_LAUNCHER


def test_a_launcher_of_this_machine_that_its_user_has_stopped_is_waited_for(tmp_path):
    owner = subprocess.Popen(["sleep", "100"])
    owner.send_signal(signal.SIGSTOP)
    try:
        values = settings(nobody_listens(), owner=owner.pid, connect_timeout=0.1)
        with runner(tmp_path, values) as theirs:
            with pytest.raises(subprocess.TimeoutExpired):
                theirs.wait(timeout=2)  # twenty times its patience with others
            owner.kill()
            assert theirs.wait() == CANNOT_REACH_LAUNCHER
    finally:
        owner.kill()
        owner.wait()


def test_a_runner_that_came_in_part_is_fetched_anew(tmp_path):
    whole = payload.runners()[""]
    first = Liar(runner=whole, announced=hashlib.sha256(whole).hexdigest(), sent=len(whole) // 2)

    async def main():
        with socket.create_server(("127.0.0.1", free_port())) as listener:
            address = listener.getsockname()
            theirs = started.enter_context(runner(tmp_path, settings(address)))
            await asyncio.to_thread(first.serve, listener)
        return await end_at_a_late_launcher(theirs, address)

    with contextlib.ExitStack() as started:
        assert asyncio.run(main()) == 0
    assert [message["type"] for message in first.heard] == ["hello", "proof"]


# A launcher that lies


class Liar:
    """Answers one stub, and takes no other."""

    def __init__(
        self, secret=SECRET, runner=b"", announced=None, challenge=None, sent=None, is_off=False
    ) -> None:
        self.is_off = is_off  # the last digit of the proof
        self.secret, self.runner, self.challenge, self.sent = secret, runner, challenge, sent
        self.announced = announced or "0" * 64
        self.heard: list[dict] = []

    def serve(self, listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            shake = LauncherHandshake(
                "run-1", os.urandom(16), lambda *_: self.secret, lambda _: self.announced
            )
            answer = shake.feed(self.hear(connection))
            if self.is_off:
                answer["proof"] = answer["proof"][:-1] + (
                    "1" if answer["proof"][-1] == "0" else "0"
                )
            answer = wire.encode(answer)
            connection.sendall(self.challenge or answer)
            if not self.challenge and not self.is_off and self.secret == SECRET:
                self.hear(connection)
                connection.sendall(len(self.runner).to_bytes(4, "big") + self.runner[: self.sent])
            if self.sent is not None:
                return
            with contextlib.suppress(ConnectionError):
                connection.recv(4096)

    def hear(self, connection: socket.socket) -> dict:
        decoder = wire.FrameDecoder()
        for message in decoder.feed(connection.recv(4096)):
            self.heard.append(message)
            return message
        raise AssertionError("no whole frame")


def lied_to(sandbox, liar: Liar, **changes) -> Runner:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(HANG)
        with runner(sandbox, settings(listener.getsockname(), **changes)) as theirs:
            liar.serve(listener)
            listener.close()
            theirs.wait()
            return theirs


EVIL = marshal.dumps(("open('ran', 'w')",), 2)


def test_a_name_of_several_addresses_is_tried_at_each(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        places = [nobody_listens(), listener.getsockname()]
        found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", place) for place in places]
        monkeypatch.setattr(stub.socket, "getaddrinfo", lambda *_: found)
        for attempt in (1, 3):
            stub.dial("launcher:1", attempt).close()


def test_a_launcher_that_closes_every_connection_is_not_said_to_have_another_secret(tmp_path):
    """It may be flooded."""

    def turn_away(listener):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                connection.recv(4096)
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=turn_away, args=[listener], daemon=True).start()
        address = listener.getsockname()
        with runner(tmp_path, settings(address, connect_timeout=0.2)) as theirs:
            code = theirs.wait()
        listener.shutdown(socket.SHUT_RDWR)  # which ends the thread
    where = f"the launcher at 127.0.0.1:{address[1]}"
    assert code == HANDSHAKE_FAILED
    assert names(theirs.stderr, f"tfmesos runner: {where}", "closed the connection")


@pytest.mark.parametrize("lie", [{"secret": b"x" * 32}, {"is_off": True}])
def test_what_somebody_without_the_secret_sends_is_not_executed(tmp_path, lie):
    liar = Liar(runner=EVIL, **lie)
    theirs = lied_to(tmp_path, liar)
    assert theirs.wait() == HANDSHAKE_FAILED
    assert f"did not prove the secret of {TASK}\n" in theirs.stderr
    assert [message["type"] for message in liar.heard] == ["hello"], "no proof for a liar"
    assert not (tmp_path / "ran").exists()


def test_a_runner_that_is_not_what_the_proof_covers_is_not_executed(tmp_path):
    theirs = lied_to(tmp_path, Liar(runner=EVIL))
    assert theirs.wait() == HANDSHAKE_FAILED
    assert "the runner arrived damaged" in theirs.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "answer",
    [b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10, b"\xff" * 300, b'"' * 300, b"\0" * 300],
    ids=["http", "no text", "quotes", "zeros"],
)
def test_nonsense_instead_of_a_challenge_is_one_clear_line(tmp_path, answer):
    theirs = lied_to(tmp_path, Liar(challenge=answer), connect_timeout=0.2)
    assert theirs.wait() in (HANDSHAKE_FAILED, CANNOT_REACH_LAUNCHER)
    assert theirs.stderr.startswith("tfmesos runner: the launcher at ")
    assert theirs.stderr.count("\n") == 1 and "Traceback" not in theirs.stderr
