"""After every test: no process, no socket and no temporary directory is left."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time
from pathlib import Path

import psutil
import pytest

os.environ.setdefault("HYPOTHESIS_NO_PLUGINS", "1")  # that of trio imports trio
from hypothesis import HealthCheck, settings

from tests.bounds import LEAVING
from tests.lasting import lasts
from tests.tls import make_certificate

# Started in the background of a shell, or by nohup: what we start would ignore them, too.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

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


@pytest.fixture(scope="session")
def scratch(tmp_path_factory):
    """The temporary directory of every test; each leaves it empty."""
    return tmp_path_factory.mktemp("scratch")


@pytest.fixture(scope="session")
def recorded_runs(tmp_path_factory):
    """Where runs are recorded; empty before each test."""
    return tmp_path_factory.mktemp("state")


@pytest.fixture(autouse=True)
def nothing_is_left_behind(scratch, recorded_runs, monkeypatch):
    empty(scratch)
    empty(recorded_runs)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("XDG_STATE_HOME", str(recorded_runs))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(recorded_runs / "config"))
    monkeypatch.delenv("TFMESOS_PROFILE", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", None)
    sockets, processes = open_sockets(), set(living_children())
    yield
    assert not killed(processes), "processes are left running"
    assert not left_open(sockets), "sockets are left open"
    assert not list(scratch.iterdir()), "temporary files are left"
    gc.freeze()  # what outlives a test: nobody need look for garbage in it after the next one


@pytest.fixture
def browser():
    """A Chromium, driven by selenium; see ``tests/browser.py``."""
    from tests.browser import chromium

    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def certificate(tmp_path_factory, pytestconfig):
    """Of a master (and of its agents) at 127.0.0.1; its own authority."""
    place = of_all_workers(tmp_path_factory, pytestconfig) / "trusted"
    return _certificate(place, "IP:127.0.0.1")


@pytest.fixture(scope="session")
def other_certificate(tmp_path_factory, pytestconfig):
    """Trusted by nobody."""
    return _certificate(of_all_workers(tmp_path_factory, pytestconfig) / "untrusted")


def of_all_workers(tmp_path_factory, pytestconfig):
    """A directory of this session."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(pytestconfig, "workerinput") else own


def _certificate(place, *names):
    """Made by the first worker that needs it: to find its primes takes a while."""
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl command to make a certificate")
    place.mkdir(exist_ok=True)
    path = place / "certificate.pem"
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return path if path.exists() else make_certificate(path, *names)


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
def open_place():
    """A directory that any user gets to, yet to be made.

    Not below that of the test: every session of pytest closes the directory above it to others.
    """
    with tempfile.TemporaryDirectory(prefix="tfmesos-open-", dir="/tmp") as place:
        os.chmod(place, 0o755)
        yield Path(place, "work")


def killed(before):
    """The children that did not end by themselves."""
    left = [process for process in living_children() if process not in before]
    _, left = psutil.wait_procs(left, LEAVING)
    left = [process for process in left if is_alive(process)]
    described = [describe(process) for process in left]
    for process in left:
        process.kill()
    reap()
    return described


def left_open(before):
    """The new sockets. Threads, such as those of gRPC, close theirs in a moment."""
    gc.collect()
    until = time.monotonic() + LEAVING
    while (left := open_sockets() - before) and time.monotonic() < until:
        time.sleep(0.01)
    return left


def empty(directory):
    for path in directory.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def living_children():
    if not has_children():
        return []
    found = psutil.Process().children(recursive=True)
    return [p for p in found if is_alive(p) and not lasts(p)]


def has_children():
    """One question to the kernel; psutil would read about every process of the machine."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


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
    for child in psutil.Process().children() if has_children() else ():
        try:
            if child.status() == psutil.STATUS_ZOMBIE:
                os.waitpid(child.pid, os.WNOHANG)
        except (psutil.Error, ChildProcessError):
            pass


def open_sockets():
    return {(fd, status.st_ino) for fd, status in open_files() if stat.S_ISSOCK(status.st_mode)}


def open_files():
    for fd in map(int, os.listdir("/dev/fd")):
        with contextlib.suppress(OSError):  # the one that listed them is closed
            yield fd, os.fstat(fd)


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
