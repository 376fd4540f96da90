"""Who has a port is named, with no more of its command line than is safe."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import uuid
from contextlib import closing

import pytest

from tests.ports import free_port
from tfmesos.node.task.port import Port
from tfmesos.node.task.port_holder import holder

LISTEN = (
    "import socket, sys\n"
    "with socket.create_server(('', 0)) as server:\n"
    "    print(server.getsockname()[1], flush=True)\n"
    "    sys.stdin.read()\n"
)


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_process_that_listens_is_named(family):
    with socket.create_server(("", 0), family=family) as server:
        assert holder(server.getsockname()[1]).startswith(f"pid {os.getpid()} (")


def test_a_runner_that_holds_a_port_which_it_wanted_is_named():
    with closing(Port(socket.AF_INET, free_port())) as port:
        assert holder(port.number).startswith(f"pid {os.getpid()} (")


def test_a_free_port_has_nobody():
    assert holder(free_port()) == ""


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["serve.py", "data", "-p", "hush"], "{python} serve.py data"),
        (["serve.py", "--token=hush"], "{python} serve.py"),
        (["serve.py", "http://me:hush@h"], "{python} serve.py"),
    ],
)
def test_of_its_command_line_only_the_program_is_shown(tmp_path, words, shown):
    (tmp_path / "serve.py").write_text(LISTEN)
    started = subprocess.Popen(
        [sys.executable, *words],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with started:
        found = holder(int(started.stdout.readline()))
        started.stdin.close()
    python = os.path.basename(sys.executable)
    assert found == f"pid {started.pid} ({shown.format(python=python)})"


def test_a_name_that_only_looks_like_that_of_a_port_is_not_taken_for_it():
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(f"\0x-tfmesos-port-{free_port()}-{uuid.uuid4()}")
        assert holder(free_port()) == ""
