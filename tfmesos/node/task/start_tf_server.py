"""The runner's side of a TensorFlow server, which runs in a process of its own.

So a crash inside TensorFlow is just another end to report, and TensorFlow can be imported while the
runner waits for the others.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from ...shared import task_variables as command
from ..loop import READ, Loop
from ..own_modules import source
from ..process.child import Child
from . import workspace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.wire import Message
    from ..process.guard import Guard
    from ..runner_settings import Settings
    from .secret_files import Secrets

# Its code comes over its socket: there is no file that holds it.
_CODE = (
    "import os, socket\n"
    "with socket.socket(fileno=os.dup(0)) as channel: "
    "code = channel.recv({}, socket.MSG_WAITALL)\n"
    "exec(code)"
)


class ServerProcess:
    """``serve`` tells it its cluster; ``is_ready`` once it listens, or ``error`` says why not."""

    def __init__(
        self,
        loop: Loop,
        guard: Guard,
        settings: Settings,
        prepare: Message,
        secrets: Secrets,
        read: Callable[[str, bytes], None],
    ) -> None:
        """*prepare* is the message of that name. OSError if the process cannot be started."""
        self.is_ready = False
        self.error = ""
        self._loop = loop
        self._settings = settings
        self._received = b""
        self.env = env = command.merged(
            os.environ,
            settings.env,
            prepare.get("env") or {},
            prepare.get("user_env") or {},
            settings.mark,
            secrets.environment,
            secrets.of_command,
        )
        self._channel, theirs = socket.socketpair()
        code = source("tf_server").encode()
        with theirs:
            argv = [sys.executable, "-c", _CODE.format(len(code))]
            self.cwd, _ = workspace.of_command(prepare, settings.env)
            self.child = Child(loop, guard, argv, env, self.cwd, read, stdin=theirs.fileno())
        self._send(code)
        loop.watch(self._channel.fileno(), READ, self._receive)

    def serve(self, start: Message) -> None:
        """*start* is the message of that name."""
        task = {
            "cluster": command.by_index(start["cluster"], start.get("starts") or {}),
            "job": self._settings.type,
            "index": self._settings.number,
            **start["serve"],
        }
        self._send(json.dumps(task).encode() + b"\n")

    def close(self) -> None:
        if self._channel.fileno() >= 0:
            self._loop.unwatch(self._channel.fileno())
            self._channel.close()

    def _send(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except OSError:
            pass  # it has ended, and its end is reported as such

    def _receive(self) -> None:
        try:
            data = self._channel.recv(64 * 1024)
        except OSError:
            data = b""
        self._received += data
        if self._received.endswith(b"\n"):
            self.error = str(json.loads(self._received).get("error", ""))
            self.is_ready = not self.error
        if not data or self._received.endswith(b"\n"):
            self._loop.unwatch(self._channel.fileno())
