"""The frames that the runner sends to the launcher, each kept until it is acknowledged.

Nothing here does I/O. Output is bounded and dropped when there is too much of it; reports
never are.
"""

from __future__ import annotations

from ...errors import FrameError
from ...shared import stdlib, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from .spill import Spill

FRAME_TEXT = 64 * 1024  # characters in one frame, about
OVERHEAD = 64  # bytes a piece of output, or a frame, takes beside its text


class Outbox:
    """Numbered frames: each is kept until the launcher has it, and sent again if need be.

    At most *limit* bytes of output are held, sent or not. Beyond that lines are dropped, and
    counted, until half of it is free again, so that a slow launcher gets a few long gaps instead of
    many short ones. Nothing is dropped if the writer waits while it is full.
    """

    def __init__(self, limit: int = 8 * 1024 * 1024, drops: bool = True) -> None:
        self._limit = limit
        self.drops = drops
        self.spill: Spill | None = None  # where output goes that there is no room for here
        self.spills = False  # is it to go there, for nobody takes it just now?
        self._held = 0
        self._stream = ""
        self._texts: list[str] = []  # of that stream, not yet in a frame
        self._size = 0  # what is held for them
        self._dropped: dict[str, int] = {}  # lines of each stream, after all the others
        # Each frame, or where it is in the spill, and what is held for it here:
        self._frames: deque[tuple[bytes | tuple[int, int], int]] = stdlib.deque()
        self._sent = 0  # frames of _frames given to this connection
        self.acked = 0  # frames the launcher has; they came before those in _frames
        self.taken = 0  # bytes of output in them
        self.on_room: Callable[[], object] = lambda: None  # called when there is some again

    @property
    def is_full(self) -> bool:
        """Will output soon be dropped, although none has been yet?"""
        is_much = self._held > self._limit * 3 // 4
        return is_much and not self._dropped and not self._is_spilling

    @property
    def _is_spilling(self) -> bool:
        """Does new output go to the spill? It does until the spill is empty again."""
        spill = self.spill
        return spill is not None and spill.has_room and (self.spills or len(spill) > 0)

    def add_text(self, stream: str, text: str) -> None:
        """Queue lines, each with its newline; those without room are only counted."""
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
        """How many frames the launcher has not received yet."""
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
        return self._read(self._frames[self._sent - 1][0])

    def _read(self, frame: bytes | tuple[int, int]) -> bytes:
        if isinstance(frame, bytes):
            return frame
        assert self.spill is not None
        return self.spill.read(frame)

    def acknowledge(self, received: int) -> None:
        """Forget the first *received* frames, which the launcher has received."""
        if received > self.acked + self._sent:
            raise FrameError("the launcher acknowledged a frame that was never sent")
        while self.acked < received:
            frame, size = self._frames.popleft()
            if self.spill is not None and not isinstance(frame, bytes):
                self.spill.remove()
            self._held -= size
            self.taken += size
            self.acked += 1
            self._sent -= 1
        if not self.is_full:
            self.on_room()

    def rewind(self, received: int) -> None:
        """A new connection: send again whatever is not among the first *received* frames."""
        if not self.acked <= received <= self.acked + len(self._frames):
            raise FrameError("the launcher received frames that this runner never sent")
        self._sent = len(self._frames)
        self.acknowledge(received)
        self._sent = 0

    def undelivered(self) -> list[bytes]:
        """The frames after the ``acked`` ones, with everything that is left to report."""
        self._pack()
        self._pack_dropped()
        return [self._read(frame) for frame, _ in self._frames]

    def _has_room(self, cost: int) -> bool:
        if not self.drops or self._is_spilling:
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
            self._held -= self._size
            self._texts = []
            self._size = 0
            self._keep(frame)

    def _keep(self, frame: bytes) -> None:
        held = len(frame) + OVERHEAD
        if self._held + held > self._limit // 2 and self._is_spilling:
            assert self.spill is not None
            if (place := self.spill.add(frame)) is not None:
                held = OVERHEAD
                self._held += held
                self._frames.append((place, held))
                return
        self._frames.append((frame, held))
        self._held += held

    def _pack_dropped(self) -> None:
        for stream, number in self._dropped.items():
            self._frames.append((wire.encode_output(stream, "", number), 0))
        self._dropped = {}
