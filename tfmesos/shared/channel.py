"""One end of a channel: bytes each way, beside the counted messages of a link.

Each side sends as many bytes as the other has given it credit for. So neither side holds more than
a window for a reader that is slow or stopped, and channels never fill up a link.
"""

from __future__ import annotations

from ..errors import FrameError
from . import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

WINDOW = 512 * 1024  # bytes that one side may send before the other has taken any
PIECE = 32 * 1024  # bytes in one frame
LARGEST = 2**32 - 1  # number of a channel
# What the streams of a channel are called by their numbers:
STDIN, STDOUT, STDERR = 0, 1, 2
TASK_ENDED = "its task has ended"  # why a channel is over


class Channel:
    """``room`` is how many bytes the other side accepts now. *send* gets frames."""

    def __init__(self, number: int, send: Callable[[bytes], object]) -> None:
        self.number = number
        self.room = 0
        self._send = send
        self._expected = 0  # bytes that the other side may still send
        self._taken = 0  # of those that it sent, without credit for others yet
        self._grant(WINDOW)

    def write(self, data: bytes, stream: int = STDOUT) -> None:
        """As many bytes as there is room for, at most."""
        self.room -= len(data)
        for at in range(0, len(data), PIECE):
            self._send(wire.encode_data(self.number, stream, data[at : at + PIECE]))

    def end(self) -> None:
        """No more data from this side."""
        self.tell("eof")

    def tell(self, kind: str, **more: object) -> None:
        self._send(wire.encode({"type": kind, "channel": self.number, **more}))

    def mute(self) -> None:
        """There is nobody at the other end any more."""
        self._send = lambda frame: None

    def credited(self, message: Mapping[str, Any]) -> None:
        self.room += wire.count(message, "bytes")
        if self.room > 2 * WINDOW:
            raise FrameError("more credit than a channel allows")

    def arrived(self, message: Mapping[str, Any]) -> bytes:
        """The data of *message*; call ``took`` when it is used up."""
        data = wire.field(message, "data", bytes)
        self._expected -= len(data)
        if self._expected < 0:
            raise FrameError("more data than there was credit for")
        return data

    def took(self, size: int) -> None:
        self._taken += size
        if self._taken >= WINDOW // 4:
            self._grant(self._taken)
            self._taken = 0

    def _grant(self, size: int) -> None:
        self._expected += size
        self.tell("credit", bytes=size)
