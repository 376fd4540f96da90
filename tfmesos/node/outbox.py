"""What the runner has to tell the launcher: output cut into lines, and frames kept until acked.

Nothing here does I/O. Output is bounded and dropped when there is too much of it; reports
never are.
"""

from __future__ import annotations

import codecs

from ..errors import FrameError
from . import stdlib, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

MAX_LINE = 64 * 1024  # characters; a longer line is sent in pieces
FRAME_TEXT = 64 * 1024  # characters in one frame, about
PACE_WINDOW = 0.5  # seconds over which the pace is measured
FAST_PACE = 256 * 1024  # bytes a second
OVERHEAD = 64  # bytes a piece of output, or a frame, takes beside its text
TAIL_LINES = 20
TAIL_CHARACTERS = 16 * 1024


class LineSplitter:
    """Raw output in, whole lines of text out; what is not UTF-8 is shown as ``\\xff``.

    Of a line that was rewritten by ``\\r``, such as a progress bar, only the last state is kept.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        self._rest = ""
        self._is_rewritten = False

    @property
    def progress(self) -> str:
        """How the line looks that is being rewritten; empty if none is."""
        return self._rest.rstrip("\r") if self._is_rewritten else ""

    def feed(self, data: bytes) -> str:
        """The lines, or pieces of very long lines, that are complete now, each with its end."""
        return self._split(self._decoder.decode(data))

    def close(self) -> str:
        """What is left of the last line."""
        lines = self._split(self._decoder.decode(b"", True))
        rest, self._rest, self._is_rewritten = self._rest, "", False
        return f"{lines}{_last_state(rest)}\n" if rest else lines

    def _split(self, text: str) -> str:
        whole, end, self._rest = (self._rest + text).rpartition("\n")
        if "\r" in whole:
            whole = "\n".join(map(_last_state, whole.split("\n")))
        if len(whole) > MAX_LINE:
            whole = "\n".join(piece for line in whole.split("\n") for piece in _pieces(line))
        whole += end
        self._is_rewritten = (self._is_rewritten and not end) or "\r" in self._rest
        if "\r" in self._rest:
            state = self._rest.rstrip("\r")
            self._rest = state.rpartition("\r")[2] + self._rest[len(state) :][:1]
        if len(self._rest) > MAX_LINE:
            *full, self._rest = _pieces(self._rest)
            whole += "".join(piece + "\n" for piece in full)
        return whole


def _last_state(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2]


def _pieces(line: str) -> list[str]:
    return [line[at : at + MAX_LINE] for at in range(0, len(line), MAX_LINE)] or [""]


class Tail:
    """The last lines of the output, for the report of a failure."""

    def __init__(self) -> None:
        self._lines: deque[str] = stdlib.deque(maxlen=TAIL_LINES)

    def add(self, text: str) -> None:
        """Lines, each with its end."""
        if text:
            self._lines.extend(text[:-1].rsplit("\n", TAIL_LINES)[-TAIL_LINES:])

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


class Pace:
    """Does the launcher take output fast enough to be waited for?

    Only then: a slow terminal at its other end must not slow down a training.
    """

    def __init__(self) -> None:
        self._asked, self._taken, self._is_fast = 0.0, 0, True

    def is_fast(self, taken: int, now: float) -> bool:
        """*taken* bytes of all output have arrived by *now*. Asked while there is too much."""
        passed = now - self._asked
        if passed >= PACE_WINDOW:
            is_new = passed >= 4 * PACE_WINDOW  # it was not asked for long: it kept up
            self._is_fast = is_new or taken - self._taken >= FAST_PACE * passed
            self._asked, self._taken = now, taken
        return self._is_fast


class Outbox:
    """Numbered frames: each is kept until the launcher has it, and sent again if need be.

    At most *limit* bytes of output are held, sent or not. Beyond that lines are dropped, and
    counted, until half of it is free again, so that a slow launcher reads of few long gaps
    and not of many short ones. Nothing is dropped if who fills it waits as long as it is full.
    """

    def __init__(self, limit: int = 8 * 1024 * 1024, drops: bool = True) -> None:
        self._limit, self.drops = limit, drops
        self._held = 0
        self._stream = ""
        self._texts: list[str] = []  # of that stream, not yet in a frame
        self._size = 0  # what is held for them
        self._dropped: dict[str, int] = {}  # lines of each stream, after all the others
        self._frames: deque[tuple[bytes, int]] = stdlib.deque()  # and what is held for them
        self._sent = 0  # frames of _frames given to this connection
        self.acked = 0  # frames the launcher has; they came before those in _frames
        self.taken = 0  # bytes of output in them
        self.on_room: Callable[[], object] = lambda: None  # called when there is some again

    @property
    def is_full(self) -> bool:
        """Will output soon be dropped, and none has been yet?"""
        return self._held > self._limit * 3 // 4 and not self._dropped

    def add_text(self, stream: str, text: str) -> None:
        """Queue lines, each with its end; those there is no room for are counted instead."""
        if not text:
            return
        if self._has_room(len(text) + OVERHEAD):
            self._add(stream, text)
        else:
            self._dropped[stream] = self._dropped.get(stream, 0) + text.count("\n")

    def add(self, message: wire.Message) -> None:
        """Queue a report, behind the output so far."""
        self.add_frame(wire.encode(message))

    def add_frame(self, frame: bytes) -> None:
        self._pack()
        self._pack_dropped()
        self._frames.append((frame, 0))

    @property
    def waiting(self) -> int:
        """How many frames the launcher does not have yet."""
        return len(self._frames)

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
            size = self._frames.popleft()[1]
            self._held -= size
            self.taken += size
            self.acked += 1
            self._sent -= 1
        if not self.is_full:
            self.on_room()

    def rewind(self, received: int) -> None:
        """A new connection: send again whatever is not among the first *received* frames."""
        if not self.acked <= received <= self.acked + len(self._frames):
            raise FrameError("the launcher has frames this runner never made")
        self._sent = len(self._frames)
        self.acknowledge(received)
        self._sent = 0

    def undelivered(self) -> list[bytes]:
        """The frames that come after the ``acked`` ones, all that there is to tell in them."""
        self._pack()
        self._pack_dropped()
        return [frame for frame, _ in self._frames]

    def _has_room(self, cost: int) -> bool:
        if not self.drops:
            return True
        return self._held + cost <= (self._limit // 2 if self._dropped else self._limit)

    def _add(self, stream: str, text: str) -> None:
        if stream != self._stream or self._size >= FRAME_TEXT:
            self._pack()
        if self._dropped:
            self._pack()
            self._pack_dropped()
        self._stream = stream
        self._texts.append(text)
        self._size += len(text) + OVERHEAD
        self._held += len(text) + OVERHEAD

    def _pack(self) -> None:
        if self._texts:
            frame = wire.encode_output(self._stream, "".join(self._texts), 0)
            held = len(frame) + OVERHEAD
            self._frames.append((frame, held))
            self._held += held - self._size
            self._texts, self._size = [], 0

    def _pack_dropped(self) -> None:
        for stream, number in self._dropped.items():
            self._frames.append((wire.encode_output(stream, "", number), 0))
        self._dropped = {}
