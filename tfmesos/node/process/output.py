"""Sends the output of a command to the sandbox, the launcher and optionally one more copy."""

from __future__ import annotations

import os
import time

from ...shared.address import split_address
from ...shared.stdlib import socket
from ..link.outbox import Outbox
from ..loop import WRITE, Loop
from .line_splitter import LineSplitter
from .tail import Tail

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.wire import Message
    from .progress_bar_sender import ProgressBarSender

FILES = {"stdout": 1, "stderr": 2}  # the runner's own, which are files in the sandbox
COPY_LIMIT = 1024 * 1024  # bytes waiting to be copied
COPY_TIMEOUT = 1.0  # seconds for what is left of them at the end


class Output:
    """Takes the output of the command as it comes. Only writing to the sandbox can block."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._splitters = {name: LineSplitter() for name in FILES}
        self.tail = Tail()
        self.forward = True  # whether the launcher wants the lines
        self.copy: Copy | None = None  # of stdout
        self.progress: ProgressBarSender | None = None  # if somebody looks at it
        self.listeners: list[Callable[[bytes], None]] = []  # to stderr
        self._last = 0.0  # when the command last wrote, or began

    def begin(self) -> None:
        """Count the seconds without output from now on."""
        self._last = time.monotonic()

    def silent(self) -> int:
        """Seconds since the command wrote anything."""
        return int(time.monotonic() - self._last) if self._last else 0

    def take(self, stream: str, data: bytes) -> None:
        """One piece of output; b"" is the end of the stream."""
        if self._last:
            self._last = time.monotonic()
        write(FILES[stream], data)
        if stream == "stderr":
            for listener in list(self.listeners):
                listener(data)
        splitter = self._splitters[stream]
        text = splitter.feed(data) if data else splitter.close()
        if self.copy is not None and stream == "stdout":
            self.copy.write(text)
        self.tail.add(text)
        if self.forward:
            self._outbox.add_text(stream, text)
        if self.progress is not None:
            states = (one.progress for one in (splitter, *self._splitters.values()))
            self.progress.update(next(filter(None, states), ""))

    def begin_with(
        self, start: Message, loop: Loop, tell: Callable[[Message], None], prefix: str
    ) -> None:
        """Apply the launcher's settings; *prefix* is for the copies of the lines."""
        self.forward = bool(start.get("forward", True))
        if start.get("progress_every"):
            from .progress_bar_sender import ProgressBarSender  # often nobody looks

            self.progress = ProgressBarSender(loop, tell, float(start["progress_every"]))
        if start.get("copy_to"):
            try:
                self.copy = Copy(loop, start["copy_to"], prefix)
            except (OSError, ValueError) as error:
                self.say(f"no copy to {start['copy_to']}: {error}")

    def say(self, text: str) -> None:
        """Add our own line to those of the command."""
        line = "tfmesos: " + text
        write(FILES["stderr"], line.encode("utf-8", "backslashreplace") + b"\n")
        self._outbox.add_text("stderr", line + "\n")


def complain(text: str) -> None:
    """Report something that cannot be sent to the launcher."""
    write(2, f"tfmesos runner: {text}\n".encode("utf-8", "backslashreplace"))


def write(fd: int, data: bytes) -> None:
    """Write to the sandbox, if it has room."""
    try:
        while data:
            data = data[os.write(fd, data) :]
    except OSError:
        pass  # a full disk or a closed pipe must not end the training


class Copy:
    """Sends lines to a TCP address as long as it keeps up, and drops them if it does not.

    Each line begins with *prefix*, as in TFMesos: many tasks may have one reader.
    """

    def __init__(self, loop: Loop, address: str, prefix: str) -> None:
        host, port = split_address(address)
        family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self._loop = loop
        self._prefix = prefix
        self._buffer = bytearray()
        self._socket = socket.socket(family, kind)
        self._socket.setblocking(False)
        self._socket.connect_ex(where)  # if that fails, so does the first write

    def write(self, text: str) -> None:
        """Whole lines, each with its end."""
        data = "".join(self._prefix + line + "\n" for line in text.split("\n")[:-1]).encode()
        if self._socket.fileno() >= 0 and len(self._buffer) + len(data) <= COPY_LIMIT:
            self._buffer += data
            self._loop.watch(self._socket.fileno(), WRITE, self._send)

    def close(self) -> None:
        """Send what is left, within a short time."""
        timer = self._loop.after(COPY_TIMEOUT, self._buffer.clear)
        self._loop.run_until(lambda: not self._buffer)
        timer.cancel()
        self._close()

    def _send(self) -> None:
        try:
            del self._buffer[: self._socket.send(self._buffer)]
        except BlockingIOError:
            return
        except OSError:
            return self._close()
        if not self._buffer:
            self._loop.unwatch(self._socket.fileno())

    def _close(self) -> None:
        self._buffer.clear()
        if self._socket.fileno() >= 0:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
