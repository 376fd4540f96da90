"""The runner's side of a bare TensorFlow server, which is a process of its own.

So a crash inside TensorFlow is one more ending to report, and the import of TensorFlow can go
on while the runner waits for the others.
"""

from __future__ import annotations

import json
import os
import socket
import sys

from .child import Child
from .loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

_CODE = (
    "import sys; sys.path.insert(0, sys.argv[1]); from tfmesos.serve import main; "
    "del sys.path[0]; main()"
)
_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # the zip we travelled in


class Servant:
    """``begin`` tells it its cluster; ``is_ready`` once it listens, or ``error`` says why not."""

    def __init__(
        self, loop: Loop, env: Mapping[str, str], cwd: str, read: Callable[[str, bytes], None]
    ) -> None:
        self.is_ready = False
        self.error = ""
        self._loop = loop
        self._heard = b""
        self._channel, theirs = socket.socketpair()
        with theirs:
            argv = [sys.executable, "-c", _CODE, _HOME]
            self.child = Child(loop, argv, env, cwd, read, stdin=theirs.fileno())
        loop.watch(self._channel.fileno(), READ, self._hear)

    def begin(self, task: Mapping[str, Any]) -> None:
        try:
            self._channel.sendall(json.dumps(task).encode() + b"\n")
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
