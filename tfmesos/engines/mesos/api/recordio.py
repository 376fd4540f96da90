"""RecordIO, the framing of the Mesos event stream: ``LENGTH\\n`` and then LENGTH bytes.

Records do not depend on the chunks they travel in: feed whatever has arrived.
"""

from __future__ import annotations

from collections.abc import Iterator

from ....errors import FrameError

MAX_RECORD = 64 * 1024 * 1024  # bytes; an OFFERS event of a large cluster is a few MB
_MAX_LENGTH_LINE = 20  # digits of 2**64


def encode(record: bytes) -> bytes:
    return b"%d\n%s" % (len(record), record)


class RecordDecoder:
    """Turns the bytes of a stream, however they are cut, back into records."""

    def __init__(self, max_record: int = MAX_RECORD) -> None:
        self._max_record = max_record
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the records that *data* completes; raise FrameError on a malformed one."""
        self._buffer += data
        while (record := self._next()) is not None:
            yield record

    def close(self) -> None:
        """Raise FrameError if the stream ended inside a record."""
        if self._buffer or self._length is not None:
            raise FrameError("the stream ended in the middle of a record")

    def _next(self) -> bytes | None:
        if self._length is None:
            self._length = self._take_length()
        if self._length is None or len(self._buffer) < self._length:
            return None
        record = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return record

    def _take_length(self) -> int | None:
        line, newline, _ = self._buffer[: _MAX_LENGTH_LINE + 1].partition(b"\n")
        if not all(0x30 <= byte <= 0x39 for byte in line) or (newline and not line):
            raise FrameError(f"expected the length of a record, got {bytes(line)!r}")
        if not newline:
            if len(line) > _MAX_LENGTH_LINE:
                raise FrameError(f"expected the length of a record, got {bytes(line)!r}...")
            return None
        length = int(line)
        if length > self._max_record:
            raise FrameError(f"a record of {length} bytes is over the limit of {self._max_record}")
        del self._buffer[: len(line) + 1]
        return length
