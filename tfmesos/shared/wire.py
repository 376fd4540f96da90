"""What runner and launcher say to each other.

A frame is four bytes of length (big-endian) and that many bytes of JSON, one object. One that
begins with a zero instead holds a piece of a pack: files on their way to a task (``unpack``). One
that begins with a one is an ``output``: its stream, a byte; how many lines were dropped, eight;
and its text, in UTF-8. As JSON it would take both sides more time than all the rest. One that
begins with a two is a part of a file that is collected from a task. One that begins with a three is
data of a channel (``channel``): its channel, four bytes; its stream, one byte; and the data.

The connection opens with a handshake (``handshake``). After it both sides count the messages
that must not get lost. ``received`` says how many of the other side's have arrived, so that after
a broken connection exactly the missing ones are sent again.

    runner -> launcher, numbered     register {host, port, pid, python}, ready {},
                                     output {stream, text, dropped},
                                     file {name}, its parts, file_end {sha256, problem},
                                     held {reason}: its command failed, and it waits for continue,
                                     exit {code, reason, tail, stopped}
    runner -> launcher               heartbeat {silent, usage}: seconds since its command wrote
                                     anything; CPU, memory and GPUs that it uses (``usage``),
                                     progress {text}: the last line, if it is not finished and
                                     was rewritten by "\\r"; empty when it is finished,
                                     fetch {pack, at}: send this pack from byte *at* on
    launcher -> runner, numbered     start {...}, stop {grace, reason, examine},
                                     continue {}
    launcher -> runner               ack {received} (its heartbeat too), bye {} after the exit,
                                     the pieces of the pack that was asked for last

Channels lead into a running task and end with the connection. None of their messages is counted:

    launcher -> runner               open {channel, request}, resize {channel, rows, columns},
                                     close {channel}: whoever asked has left
    runner -> launcher               done {channel, code, problem}: it is over
    both                             data, eof {channel}: no more data from this side,
                                     credit {channel, bytes}: so many more may be sent
"""

from __future__ import annotations

from ..errors import FrameError
from . import json_reader, stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, TypeVar

    Message = dict[str, Any]
    T = TypeVar("T")

MAX_GREETING = 4096  # bytes of a frame from somebody who has not proved anything yet
MAX_FRAME = 16 * 1024 * 1024
# What the bodies of these begin with; no JSON does:
_PIECE, _OUTPUT, _PART, _DATA = b"\0", b"\1", b"\2", b"\3"
_DATA_HEAD = 6  # bytes of data of a channel before the data itself
_STREAMS = ("stdout", "stderr")
_HEAD = 10  # bytes of an output before its text
_OF_RUNNER = ("register", "ready", "output", "file", "part", "file_end", "held", "exit")
NUMBERED = frozenset([*_OF_RUNNER, "prepare", "start", "stop", "continue"])
OF_CHANNELS = frozenset(["open", "data", "eof", "credit", "resize", "close", "done"])


def encode(message: Mapping[str, Any]) -> bytes:
    """The frame of one message."""
    body = stdlib.dumps(message).encode("ascii")
    if len(body) > MAX_FRAME:
        raise FrameError(f"a message of {len(body)} bytes is too long to send")
    return len(body).to_bytes(4, "big") + body


def encode_piece(data: bytes) -> bytes:
    """The frame of a piece of a pack."""
    return (1 + len(data)).to_bytes(4, "big") + _PIECE + data


def encode_part(data: bytes) -> bytes:
    """The frame of a part of a file."""
    return (1 + len(data)).to_bytes(4, "big") + _PART + data


def encode_data(channel: int, stream: int, data: bytes) -> bytes:
    """The frame of data of a channel."""
    head = _DATA + channel.to_bytes(4, "big") + bytes([stream])
    return b"".join([(_DATA_HEAD + len(data)).to_bytes(4, "big"), head, data])


def encode_output(stream: str, text: str, dropped: int) -> bytes:
    """The frame of whole lines, each with its end, after so many that were dropped."""
    body = text.encode("utf-8", "backslashreplace")
    head = _OUTPUT + bytes([_STREAMS.index(stream)]) + dropped.to_bytes(8, "big")
    return b"".join([(_HEAD + len(body)).to_bytes(4, "big"), head, body])


class FrameDecoder:
    """Bytes in, messages out. Holds no more than one frame of ``limit`` and one read."""

    def __init__(self, limit: int = MAX_GREETING) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now.

        Each is decoded when it is asked for, so that raising ``limit`` after the handshake
        counts for the very next frame.
        """
        self._buffer += data
        return self._messages()

    def _messages(self) -> Iterator[Message]:
        while len(self._buffer) >= 4:
            length = int.from_bytes(self._buffer[:4], "big")
            if length > self.limit:
                raise FrameError(f"a frame of {length} bytes; {self.limit} are allowed")
            if len(self._buffer) < 4 + length:
                return
            with memoryview(self._buffer) as view:
                body = bytes(view[4 : 4 + length])
            del self._buffer[: 4 + length]
            yield decode(body)


def decode(body: bytes) -> Message:
    """The message in the body of a frame; a piece or part has bytes for its ``data``."""
    if body[:1] == _PIECE:
        return {"type": "piece", "data": body[1:]}
    if body[:1] == _PART:
        return {"type": "part", "data": body[1:]}
    if body[:1] == _OUTPUT:
        return _decode_output(body)
    if body[:1] == _DATA:
        return _decode_data(body)
    try:
        message = json_reader.read(body)
    except ValueError as error:
        raise FrameError(f"a frame that is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise FrameError(f"a frame that holds a {type(message).__name__}, not an object")
    if not isinstance(message.get("type"), str):
        raise FrameError("a frame without a type")
    return message


def _decode_data(body: bytes) -> Message:
    if len(body) < _DATA_HEAD:
        raise FrameError("data without a channel")
    channel = int.from_bytes(body[1:5], "big")
    return {"type": "data", "channel": channel, "stream": body[5], "data": body[_DATA_HEAD:]}


def _decode_output(body: bytes) -> Message:
    if len(body) < _HEAD or body[1] >= len(_STREAMS):
        raise FrameError("output without a stream")
    try:
        text = str(memoryview(body)[_HEAD:], "utf-8")
    except UnicodeDecodeError:
        raise FrameError("output that is not UTF-8") from None
    dropped = int.from_bytes(body[2:_HEAD], "big")
    return {"type": "output", "stream": _STREAMS[body[1]], "text": text, "dropped": dropped}


def field(message: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The field *name* of *message*, or FrameError if it is not there or no *kind*."""
    value = message.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FrameError(f"{message.get('type')!r} without a proper {name!r}")
    return value


def count(message: Mapping[str, Any], name: str) -> int:
    """The field *name* of *message*, a number that is not negative."""
    value = field(message, name, int)
    if value < 0:
        raise FrameError(f"{message.get('type')!r} with a negative {name!r}")
    return value


def secret(message: Mapping[str, Any]) -> bytes:
    """The field ``secret`` of *message*, which is bytes in hexadecimal."""
    try:
        return bytes.fromhex(field(message, "secret", str))
    except ValueError:
        raise FrameError("a malformed secret") from None
