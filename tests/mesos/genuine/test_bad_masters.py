"""A master that is none, or that does not want us: one clear line, and soon."""

from __future__ import annotations

import re
import socket
import socketserver
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.bounds import HANG
from tests.commands import environment, tfrun

SOON = ("--start-timeout", 2)


class WebSite(BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_error(404)

    def log_message(self, *args):
        pass


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(4096):
            self.request.sendall(data)


class Silence(socketserver.BaseRequestHandler):
    def handle(self):
        while self.request.recv(4096):
            pass


class ThreadingServer(socketserver.ThreadingTCPServer):
    allow_reuse_address = True


@contextmanager
def serving(handler):
    kind = HTTPServer if handler is WebSite else ThreadingServer
    with kind(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def refusal(master, *flags, **options):
    """The one line that tfrun has to say."""
    done = tfrun("-m", master, "-w", 1, *flags, "--", "true", **options)
    last = done.stderr.splitlines()[-1]
    assert last.startswith("tfrun: ") and done.stdout == ""
    if tried := re.search(r"attempts? in (\S+) s", last):
        assert float(tried[1]) < HANG
    return done.returncode, last


@pytest.mark.parametrize("handler", [WebSite, Echo, Silence])
def test_a_port_that_is_no_master_is_named(handler):
    with serving(handler) as address:
        code, line = refusal(address)
        assert code == 69 and address in line


def test_a_host_that_does_not_exist_is_named():
    code, line = refusal("no-such-host.invalid:5050", *SOON)
    assert code == 69 and "no-such-host.invalid" in line


def test_a_port_where_nobody_listens_is_named():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        code, line = refusal(address)
    assert code == 69 and address in line


def test_a_zookeeper_that_is_not_there_is_named():
    began = time.monotonic()
    code, line = refusal("zk://127.0.0.1:1/mesos")
    assert time.monotonic() - began < HANG
    assert code == 69 and "ZooKeeper at 127.0.0.1:1" in line


def test_without_kazoo_a_zookeeper_address_says_how_to_get_it(tmp_path):
    (tmp_path / "kazoo").mkdir()
    (tmp_path / "kazoo" / "__init__.py").write_text("raise ImportError('left out')\n")
    env = {"PYTHONPATH": f"{tmp_path}:{environment().get('PYTHONPATH', '')}"}
    code, line = refusal("zk://127.0.0.1:1/mesos", env=env)
    assert code == 2 and "needs kazoo: pip install kazoo" in line


def test_a_role_that_the_master_does_not_want_is_refused_in_its_words(mesos):
    master = mesos.start(roles="ml")
    code, line = refusal(master.address, "-r", "nobody")
    assert code == 69 and "{ nobody } are not present" in line


def test_an_election_without_masters_says_so(zookeeper):
    code, line = refusal(f"zk://{zookeeper}/mesos", "--start-timeout", 15)
    assert code == 69 and "no master is registered" in line
