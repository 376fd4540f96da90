"""A genuine HTTP proxy: tinyproxy of Debian."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bounds import HANG
from tests.ports import free_port


class TinyProxy:
    def __init__(self, host: str, port: int, log: Path) -> None:
        self.host, self.port, self._log = host, port, log

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    def tunnels(self) -> list[str]:
        """Where it was asked to lead to, each time."""
        return re.findall(r": CONNECT (\S+) HTTP", self._log.read_text())


@contextmanager
def tinyproxy(place: Path, *lines: str, host: str = "127.0.0.1") -> Iterator[TinyProxy]:
    """One that runs, with these *lines* besides in its configuration."""
    program = shutil.which("tinyproxy")
    if program is None:
        missing = "needs tinyproxy, a package of Debian"
        pytest.fail(missing) if os.environ.get("CI") else pytest.skip(missing)
    proxy = TinyProxy(host, free_port(), place / "tinyproxy.log")
    config = place / "tinyproxy.conf"
    fixed = (f"Port {proxy.port}", f"Listen {host}", "Timeout 600", "LogLevel Info")
    config.write_text("\n".join([*fixed, *lines, ""]))
    with open(place / "tinyproxy.log", "wb") as log:
        process = subprocess.Popen([program, "-d", "-c", config], stdout=log, stderr=log)
    try:
        _wait_for((host, proxy.port), process)
        yield proxy
    finally:
        process.kill()
        process.wait()


def _wait_for(address: tuple[str, int], process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        assert process.poll() is None, "tinyproxy has ended"
        try:
            socket.create_connection(address).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.02)
    raise AssertionError("tinyproxy does not listen")
