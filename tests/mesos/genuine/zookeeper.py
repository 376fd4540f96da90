"""A ZooKeeper of Debian's, for elections."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.ports import free_port

from .build import CannotRun
from .cluster import wait_until

CLASS_PATH = "/usr/share/java/zookeeper.jar"
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
SETTINGS = """
dataDir={directory}
clientPort={port}
clientPortAddress=127.0.0.1
admin.enableServer=false
tickTime=500
"""


def check_installed() -> None:
    if shutil.which("java") is None or not Path(CLASS_PATH).exists():
        raise CannotRun("ZooKeeper is missing: apt-get install zookeeper")


@contextmanager
def running_zookeeper(directory: Path) -> Iterator[str]:
    """Its address, as HOST:PORT."""
    directory.mkdir()
    port, settings = free_port(), directory / "zoo.cfg"
    settings.write_text(SETTINGS.format(directory=directory, port=port))
    # Without HotSpot's file in /tmp, which would be left over.
    command = ["java", "-XX:-UsePerfData", "-Xmx64m", "-cp", CLASS_PATH, MAIN, str(settings)]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_until("ZooKeeper is up", lambda: _listens(port) or process.poll() is not None)
        assert process.poll() is None, (directory / "log").read_text()[-2000:]
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
