"""Runners that listen, and a launcher that dials them, for the tests."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from tests.bounds import HANG
from tests.ports import free_port
from tests.runners import SECRET, TASK, Launcher, environment, in_own_session
from tests.runners import Runner as DiallingRunner
from tests.runners import settings as dialling_settings
from tfmesos.launcher.links import payload
from tfmesos.launcher.links.dialer import Dialer


class Runner(DiallingRunner):
    """A runner process in a pod, so to speak: its stub is a file.

    Its stub waits 1 s, not 5, for the answer of each who connects: some tests send many.
    """

    def __init__(self, sandbox: Path, env: dict[str, str], python: str = sys.executable) -> None:
        self.sandbox = sandbox
        stub = payload.listening_stub()
        assert stub.count("CHALLENGE, 5)") == 1
        (sandbox / "stub.py").write_text(stub.replace("CHALLENGE, 5)", "CHALLENGE, 1)"))
        command = [python, "-I", "-S", str(sandbox / "stub.py")]
        with open(sandbox / "stdout", "wb") as out, open(sandbox / "stderr", "wb") as err:
            self.process = in_own_session(command, env=env, cwd=sandbox, stdout=out, stderr=err)


def settings(port: int, **changes: Any) -> dict[str, Any]:
    return {**dialling_settings(("", 0), **changes), "launcher": f":{port}"}


@contextlib.contextmanager
def runner(
    sandbox: Path, values: dict[str, Any], python: str = sys.executable, **extra: str
) -> Iterator[Runner]:
    env = environment(values, SECRET, TFMESOS_ADDRESS="10.1.2.3", **extra)
    started = Runner(sandbox, env, python)
    try:
        yield started
    finally:
        started.close()


@contextlib.asynccontextmanager
async def launcher(
    port: int, told: dict[str, Any] | None = None, dial: Any = None, tls: Any = None, **options: Any
) -> AsyncIterator[tuple[Launcher, Dialer]]:
    """A launcher that listens nowhere, and dials our one task."""
    ours = Launcher(**options)

    async def dial_port(task_id: str) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port), timeout=HANG)

    async with ours.rendezvous as listener:
        listener.expect(TASK, SECRET, told or {})
        async with Dialer(listener, dial or dial_port, tls) as dialer:
            dialer.begin(TASK)
            yield ours, dialer


__all__ = ["Runner", "free_port", "launcher", "runner", "settings"]
