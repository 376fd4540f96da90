"""A port of this machine leads to a port of a task, for many connections at once."""

from __future__ import annotations

import os
import re
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bounds import HANG
from tests.commands import running_tfrun, tfrun
from tests.ports import free_port
from tests.whole.entering import inside, lasting_run

# Echoes all that comes, and says so when that has ended.
SERVER = """
import socket, sys, threading
listener = socket.create_server((sys.argv[2], 0))
open(sys.argv[1] + ".new", "w").write(str(listener.getsockname()[1]))
__import__("os").rename(sys.argv[1] + ".new", sys.argv[1])
print("begun", flush=True)
def serve(connection):
    with connection:
        while data := connection.recv(65536):
            if data == b"close":
                return
            connection.sendall(data)
        connection.sendall(b"END")
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


@pytest.fixture
def port(tmp_path):
    """Of an echo in the one task of a run."""
    program = tmp_path / "server.py"
    program.write_text(SERVER)
    command = (sys.executable, str(program), str(tmp_path / "port"), "127.0.0.1")
    with lasting_run(command=command) as launcher:
        yield int((tmp_path / "port").read_text()), launcher


def local_port(forward):
    line = forward.stderr.readline()
    while "forwarded to" not in line:
        assert line, "tfrun forward has ended"
        line = forward.stderr.readline()
    return int(re.search(r"127\.0\.0\.1:(\d+) is", line)[1])


def echoed(port, data):
    """What comes back of *data*, which is sent to its end while it comes."""
    with socket.create_connection(("127.0.0.1", port), HANG) as connection:

        def send():
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)

        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(send)
            received = b"".join(iter(lambda: connection.recv(65536), b""))
            sent.result()
    return received


def test_many_connections_pass_all_bytes_both_ways_and_end_one_way_at_a_time(port):
    number, launcher = port
    with running_tfrun("forward", f"worker:0:{number}") as forward:
        local = local_port(forward)
        data = [os.urandom(700_000 + n) for n in range(8)]
        with ThreadPoolExecutor(8) as pool:
            received = list(pool.map(lambda one: echoed(local, one), data))
        assert [one == sent + b"END" for one, sent in zip(received, data, strict=True)] == [
            True
        ] * 8
        taken = tfrun("forward", f"worker:0:{number}", "--to", local)
        assert taken.returncode == 71 and str(local) in taken.stderr
        forward.send_signal(signal.SIGINT)
        assert forward.wait(HANG) == 0
    with running_tfrun("forward", f"worker:0:{number}") as forward:
        local_port(forward)
        launcher.terminate()
        assert forward.wait(HANG) == 0
        assert "worker:0: its task has ended" in forward.stderr.read()


def test_a_task_that_has_said_all_before_its_client_does_goes_on(port):
    number, _ = port
    with running_tfrun("forward", f"worker:0:{number}") as forward:
        local = local_port(forward)
        for _ in range(3):
            with socket.create_connection(("127.0.0.1", local), HANG) as one:
                one.sendall(b"close")
                assert one.makefile("rb").read() == b""  # it has closed
                one.sendall(b"more")
        assert echoed(local, b"still here") == b"still hereEND"


def test_a_forward_that_is_stopped_holds_up_nobody_and_goes_on_later(port):
    number, _ = port
    data = os.urandom(3_000_000)
    with running_tfrun("forward", f"worker:0:{number}") as forward:
        local = local_port(forward)
        assert echoed(local, b"before") == b"beforeEND"
        forward.send_signal(signal.SIGSTOP)
        with ThreadPoolExecutor(1) as pool:
            received = pool.submit(echoed, local, data)
            assert inside("exec", "worker:0", "echo", "here").stdout == b"here\n"
            with running_tfrun("forward", f"worker:0:{number}") as other:
                assert echoed(local_port(other), b"beside") == b"besideEND"
            assert not received.done()
            forward.send_signal(signal.SIGCONT)
            assert received.result(HANG) == data + b"END"


def test_a_port_that_nobody_listens_at_is_said_and_the_connection_ends(port):
    closed = free_port()
    with running_tfrun("forward", f"worker:0:{closed}") as forward:
        assert echoed_or_reset(local_port(forward)) == b""
        assert f"nothing listens on port {closed}" in forward.stderr.readline()
    assert tfrun("forward", "worker:9:1").returncode == 2
    assert tfrun("forward", "worker:0:nonsense").returncode == 2


@pytest.mark.parametrize("number", [0, 65536, 100_000_000])
def test_a_port_that_cannot_be_is_refused_before_anybody_listens(number):
    done = tfrun("forward", f"worker:0:{number}")
    assert (done.returncode, f"worker:0:{number} " in done.stderr) == (2, True), done.stderr


def echoed_or_reset(port):
    with socket.create_connection(("127.0.0.1", port), HANG) as connection:
        try:
            return connection.recv(1)
        except ConnectionError:
            return b""
