"""After every test: no process, no socket and no temporary directory is left."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import signal
import socket
import sys
import tempfile

import psutil
import pytest
from hypothesis import HealthCheck, settings

from tests.bounds import LEAVING
from tests.tls import make_certificate

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell; what we start would ignore it, too.
    signal.signal(signal.SIGINT, signal.default_int_handler)

if sys.platform == "linux":
    # Orphans of our tests become our children, so that none can hide.
    PR_SET_CHILD_SUBREAPER = 36
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

# As where CI is set: how fast an example is says something of the machine only.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from .sharing import Sharing

    return Sharing(config, log)


def pytest_collection_finish():
    """What is there before the first test stays: nobody need look for garbage in it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nothing_is_left_behind(tmp_path_factory, monkeypatch):
    scratch = tmp_path_factory.mktemp("scratch")
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
    monkeypatch.setattr(tempfile, "tempdir", None)
    sockets, processes = open_sockets(), set(living_children())
    yield
    left = [p for p in living_children() if p not in processes]
    _, left = psutil.wait_procs(left, LEAVING)
    left = [process for process in left if is_alive(process)]
    described = [describe(process) for process in left]
    for process in left:
        process.kill()
    reap()
    assert not described, "processes are left running"
    gc.collect()
    assert not open_sockets() - sockets, "sockets are left open"
    assert not list(scratch.iterdir()), "temporary files are left"
    gc.freeze()  # what outlives a test: nobody need look for garbage in it after the next one


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """Of a master (and of its agents) at 127.0.0.1; its own authority."""
    return _certificate(tmp_path_factory, "IP:127.0.0.1")


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory):
    """Trusted by nobody."""
    return _certificate(tmp_path_factory)


def _certificate(tmp_path_factory, *names):
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl command to make a certificate")
    return make_certificate(tmp_path_factory.mktemp("tls") / "certificate.pem", *names)


@pytest.fixture
def unknown():
    """A name that the resolver knows not to exist."""
    try:
        socket.getaddrinfo("no-such-host.invalid", None)
    except socket.gaierror as error:
        if error.errno == socket.EAI_NONAME:
            return "no-such-host.invalid"
    pytest.skip("this machine's resolver does not say that there is no such name")


@pytest.fixture
def open_place(tmp_path):
    """A directory that any user gets to."""
    for directory in [tmp_path, *tmp_path.parents][:-2]:
        directory.chmod(directory.stat().st_mode | 0o011)
    return tmp_path / "work"


def living_children():
    return [p for p in psutil.Process().children(recursive=True) if is_alive(p)]


def is_alive(process):
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def describe(process):
    try:
        return process.pid, process.cmdline()
    except psutil.Error:
        return process.pid, "(gone meanwhile)"


def reap():
    """Orphans that ended are ours to reap; those that a Popen waits for are left to it."""
    for child in psutil.Process().children():
        try:
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
        except (psutil.Error, ChildProcessError):
            pass


def open_sockets():
    return {(c.fd, c.laddr, c.raddr) for c in psutil.Process().net_connections() if c.fd != -1}


# The table of tests/chaos. It is here because workers of pytest-xdist send their reports to a
# process that has loaded no other conftest.py.
_cases: list[str] = []


def pytest_runtest_logreport(report):
    took = dict(report.user_properties).get("bound")
    if took and report.when == "teardown":
        case = report.nodeid.partition("tests/chaos/")[2]
        _cases.append("{:5.1f} s of {:3g} s  ".format(*took) + case)


def pytest_terminal_summary(terminalreporter):
    if _cases:
        terminalreporter.section("chaos: each case, how long it took and its bound")
        for case in _cases:
            terminalreporter.write_line(case)
