"""What the runner has to tell the launcher: output cut into lines, and frames kept until acked.

Nothing here does I/O. Output is bounded and dropped when there is too much of it; reports
never are.
"""

from __future__ import annotations

import codecs

from . import bare, wire
from .errors import FrameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Deque, Iterable

MAX_LINE = 64 * 1024  # characters; a longer line is sent in pieces
BATCH = 64 * 1024  # bytes held for the lines of one frame, about
COST = 64  # bytes a line, or a frame, costs beside its text
TAIL_LINES = 20
TAIL_CHARACTERS = 16 * 1024


class LineSplitter:
    """Raw output in, lines of text out; what is not UTF-8 is shown as ``\\xff``."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The lines, or pieces of very long lines, that are complete now."""
        return self._split(self._decoder.decode(data))

    def close(self) -> list[str]:
        """What is left of the last line."""
        lines = self._split(self._decoder.decode(b"", True))
        rest, self._rest = self._rest, ""
        return [*lines, rest] if rest else lines

    def _split(self, text: str) -> list[str]:
        lines = (self._rest + text).split("\n")
        if max(map(len, lines)) > MAX_LINE:
            last = _pieces(lines.pop())
            lines = [piece for line in lines for piece in _pieces(line)] + last
        self._rest = lines.pop()
        return [line[:-1] if line.endswith("\r") else line for line in lines]


def _pieces(line: str) -> list[str]:
    return [line[at : at + MAX_LINE] for at in range(0, len(line), MAX_LINE)] or [""]


class Tail:
    """The last lines of the output, for the report of a failure."""

    def __init__(self) -> None:
        self._lines: Deque[str] = bare.deque(maxlen=TAIL_LINES)

    def add(self, lines: list[str]) -> None:
        self._lines.extend(lines[-TAIL_LINES:])

    def lines(self) -> list[str]:
        room, chosen = TAIL_CHARACTERS, []
        for line in reversed(self._lines):
            if len(line) > room:
                break
            room -= len(line)
            chosen.append(line)
        if self._lines and not chosen:
            chosen = [self._lines[-1][-TAIL_CHARACTERS:]]
        return chosen[::-1]


class Outbox:
    """Numbered frames: each is kept until the launcher has it, and sent again if need be.

    At most *limit* bytes of output are held, sent or not. Beyond that lines are dropped, and
    counted, until half of it is free again, so that a slow launcher reads of few long gaps
    and not of many short ones.
    """

    def __init__(self, limit: int = 8 * 1024 * 1024) -> None:
        self._limit = limit
        self._held = 0
        self._stream = ""
        self._lines: list[str] = []  # of that stream, not yet in a frame
        self._size = 0  # what is held for them
        self._dropped: dict[str, int] = {}  # lines of each stream, after all the others
        self._frames: Deque[tuple[bytes, int]] = bare.deque()  # and what is held for them
        self._sent = 0  # frames of _frames given to this connection
        self.acked = 0  # frames the launcher has; they came before those in _frames

    def add_lines(self, stream: str, lines: Iterable[str]) -> None:
        """Queue output; a line there is no room for is counted instead."""
        for line in lines:
            if self._has_room(len(line) + COST):
                self._add_line(stream, line)
            else:
                self._dropped[stream] = self._dropped.get(stream, 0) + 1

    def add(self, message: wire.Message) -> None:
        """Queue a report, behind the output so far."""
        self._pack()
        self._pack_dropped()
        self._frames.append((wire.encode(message), 0))

    def next(self) -> bytes | None:
        """The next frame to send on this connection."""
        if self._sent == len(self._frames):
            self._pack()
            if self._has_room(0):
                self._pack_dropped()
        if self._sent == len(self._frames):
            return None
        self._sent += 1
        return self._frames[self._sent - 1][0]

    def acknowledge(self, received: int) -> None:
        """Forget the first *received* frames: the launcher has them."""
        if received > self.acked + self._sent:
            raise FrameError("the launcher acked a frame that was never sent")
        while self.acked < received:
            self._held -= self._frames.popleft()[1]
            self.acked += 1
            self._sent -= 1

    def rewind(self, received: int) -> None:
        """A new connection: send again whatever is not among the first *received* frames."""
        if not self.acked <= received <= self.acked + len(self._frames):
            raise FrameError("the launcher has frames this runner never made")
        self._sent = len(self._frames)
        self.acknowledge(received)
        self._sent = 0

    def _has_room(self, cost: int) -> bool:
        return self._held + cost <= (self._limit // 2 if self._dropped else self._limit)

    def _add_line(self, stream: str, line: str) -> None:
        if stream != self._stream or self._size >= BATCH:
            self._pack()
        if self._dropped:
            self._pack()
            self._pack_dropped()
        self._stream = stream
        self._lines.append(line)
        self._size += len(line) + COST
        self._held += len(line) + COST

    def _pack(self) -> None:
        if self._lines:
            frame = _output(self._stream, self._lines, 0)
            held = len(frame) + COST
            self._frames.append((frame, held))
            self._held += held - self._size
            self._lines, self._size = [], 0

    def _pack_dropped(self) -> None:
        for stream, number in self._dropped.items():
            self._frames.append((_output(stream, [], number), 0))
        self._dropped = {}


def _output(stream: str, lines: list[str], dropped: int) -> bytes:
    message = {"type": "output", "stream": stream, "lines": lines, "dropped": dropped}
    return wire.encode(message)
