"""Strangers at the rendezvous port of a run: it goes on, and none of them gets in."""

from __future__ import annotations

import os
import re
import resource
import socket
import struct
from contextlib import contextmanager

import pytest

from tests.bounds import HANG
from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.ports import free_port
from tests.runners import Proxy
from tfmesos.errors import HANDSHAKE_FAILED

from .stage import background, runners_through

FILES = 300  # that the launcher may have open
MANY = 5000  # connections one after another; a million of them would be the same for minutes


@contextmanager
def run_with_a_door(tmp_path, *flags, **options):
    """A run that waits for ``go``, and the address of its rendezvous."""
    go, port = tmp_path / "go", free_port()
    script = f"echo up; until [ -e {go} ]; do sleep 0.05; done; echo done"
    flags = ("--advertise", f"127.0.0.1:{port}", "-w", 2, *flags)
    with running_tfrun(*flags, "--", script, **options) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        yield run, ("127.0.0.1", port), go


def assert_unharmed(run, go, bound):
    go.touch()
    out, err = finish(run, bound.left)
    assert run.returncode == 0, err
    assert sorted(out.splitlines()) == ["[worker:0] done", "[worker:1] done"]
    return err


def answer_to(address, data):
    """All that the launcher says to *data* before it hangs up."""
    with socket.create_connection(address, timeout=HANG) as stranger:
        answer = b""
        try:
            stranger.sendall(data)
            while piece := stranger.recv(65536):
                answer += piece
        except ConnectionError:
            pass
        return answer


def reset(connection):
    """Close with a reset, as port scanners do; and no local port is used up."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


@pytest.mark.bound(20)
def test_a_port_scanner(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        bound.struck()
        for _ in range(100):
            reset(socket.create_connection(address))
            socket.create_connection(address).close()
        assert_unharmed(run, go, bound)


@pytest.mark.bound(20)
def test_an_http_client(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        bound.struck()
        assert answer_to(address, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n") == b""
        assert_unharmed(run, go, bound)


@pytest.mark.bound(20)
def test_random_bytes(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        bound.struck()
        for size in (1, 4, 5, 100, 5000, 100_000):
            data = os.urandom(size)
            with socket.create_connection(address) as stranger:
                try:
                    stranger.sendall(data)
                except ConnectionError:
                    pass
        assert answer_to(address, b"\xff" * 1000) == b""
        assert_unharmed(run, go, bound)


@pytest.mark.bound(60)
def test_very_many_connections_one_after_another(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        bound.struck()
        for _ in range(MANY):
            reset(socket.create_connection(address))
        err = assert_unharmed(run, go, bound)
    assert len(err.splitlines()) < 10, "one line now and then is enough"


@pytest.mark.bound(20)
def test_many_connections_at_once_that_say_nothing(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        bound.struck()
        crowd = [socket.create_connection(address) for _ in range(300)]
        assert_unharmed(run, go, bound)
        for stranger in crowd:
            stranger.close()


@pytest.mark.bound(30)
def test_a_crowd_larger_than_the_launcher_may_have_files_open(tmp_path, bound):
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))}
    with run_with_a_door(tmp_path, **few) as (run, address, go):
        bound.struck()
        crowd = [socket.create_connection(address) for _ in range(2 * FILES)]
        err = assert_unharmed(run, go, bound)
        for stranger in crowd:
            stranger.close()
    said = [line for line in err.splitlines() if "done in" not in line]
    assert len(said) <= 1 and "Traceback" not in err, "a line a minute is enough"


@pytest.mark.bound(30)
def test_a_runner_of_another_run_is_turned_away_and_fails_in_clear_words(tmp_path, bound):
    with run_with_a_door(tmp_path) as (run, address, go):
        python = runners_through(tmp_path, address, connect_timeout=1)
        bound.struck()
        lost = tfrun("--python", python, "-w", 1, "--", "true", timeout=bound.left)
        assert lost.returncode == HANDSHAKE_FAILED
        assert "their secrets differ" in lost.stderr
        assert_unharmed(run, go, bound)


@pytest.mark.bound(20)
def test_a_replay_of_a_recorded_handshake(tmp_path, bound):
    with background() as here:
        port = free_port()
        proxy = here.enter(Proxy(("127.0.0.1", port)).running())
        python = runners_through(tmp_path, proxy.address)
        go = tmp_path / "go"
        script = f"echo up; until [ -e {go} ]; do sleep 0.05; done; echo done"
        flags = ("--advertise", f"127.0.0.1:{port}", "--python", python, "-w", 1)
        with running_tfrun(*flags, "--", script) as run:
            read_until(run.stdout, "[worker:0] up")
            bound.struck()
            recorded = here.do(lambda: proxy.recorded)
            answer = answer_to(("127.0.0.1", port), recorded)
            assert answer == b"", "the first secret of a task opens no door once it has reported"
            go.touch()
            out, err = finish(run, bound.left)
    assert (run.returncode, out) == (0, "[worker:0] done\n"), err
    assert re.search(r'"proof"', recorded.decode("latin-1"))
