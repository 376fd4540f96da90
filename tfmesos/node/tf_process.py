"""The runner's side of a bare TensorFlow server, which is a process of its own.

So a crash inside TensorFlow is one more ending to report, and the import of TensorFlow can go
on while the runner waits for the others.
"""

from __future__ import annotations

import json
import socket
import sys

from .child import Child
from .loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .guard import Guard

# Its code comes over its socket: there is no file that holds it.
_CODE = (
    "import os, socket\n"
    "with socket.socket(fileno=os.dup(0)) as channel: "
    "code = channel.recv({}, socket.MSG_WAITALL)\n"
    "exec(code)"
)


def _source() -> bytes:
    loader: Any = __spec__.loader  # this module's, which has the other one, too
    text: str = loader.get_source("tfmesos.node.tf_server")
    return text.encode()


class Servant:
    """``begin`` tells it its cluster; ``is_ready`` once it listens, or ``error`` says why not."""

    def __init__(
        self,
        loop: Loop,
        guard: Guard,
        env: Mapping[str, str],
        cwd: str,
        read: Callable[[str, bytes], None],
    ) -> None:
        """OSError if it cannot be started."""
        self.is_ready = False
        self.error = ""
        self._loop = loop
        self._heard = b""
        self._channel, theirs = socket.socketpair()
        code = _source()
        with theirs:
            argv = [sys.executable, "-c", _CODE.format(len(code))]
            self.child = Child(loop, guard, argv, env, cwd, read, stdin=theirs.fileno())
        self._tell(code)
        loop.watch(self._channel.fileno(), READ, self._hear)

    def begin(self, task: Mapping[str, Any]) -> None:
        self._tell(json.dumps(task).encode() + b"\n")

    def _tell(self, data: bytes) -> None:
        try:
            self._channel.sendall(data)
        except OSError:
            pass  # it has ended, and its end is reported as such

    def close(self) -> None:
        if self._channel.fileno() >= 0:
            self._loop.unwatch(self._channel.fileno())
            self._channel.close()

    def _hear(self) -> None:
        try:
            data = self._channel.recv(64 * 1024)
        except OSError:
            data = b""
        self._heard += data
        if self._heard.endswith(b"\n"):
            self.error = str(json.loads(self._heard).get("error", ""))
            self.is_ready = not self.error
        if not data or self._heard.endswith(b"\n"):
            self._loop.unwatch(self._channel.fileno())
