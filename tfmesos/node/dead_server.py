"""What the address of a TensorFlow server answers after the server's death.

TensorFlow's client waits for a server that does not listen, without end and deaf to signals;
one that answers it believes. So every call gets an error of gRPC, in the few frames of HTTP/2
that this takes.
"""

from __future__ import annotations

import os
import socket
import struct

from .loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .stdlib import socket as system_socket

PREFACE = 24  # bytes with which a client begins
HEADER = struct.Struct(">HBBBI")  # of a frame: its length in three bytes, type, flags, stream
LARGEST = 16 * 1024  # bytes of a frame; we do not ask for larger ones
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, ACK, END_HEADERS = 1, 1, 4
OK, ABORTED = b"0", b"10"  # statuses of gRPC; after neither a client tries again
EMPTY = bytes(5)  # a message of gRPC: not compressed, no bytes
REMEMBER_NOTHING = struct.pack(">HI", 1, 0)  # a setting: every header is spelt out each time


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return HEADER.pack(len(body) >> 8, len(body) & 0xFF, kind, flags, stream) + body


def header(name: bytes, value: bytes) -> bytes:
    """Neither part is longer than 126 bytes."""
    return b"".join((b"\0", bytes([len(name)]), name, bytes([len(value)]), value))


BEGINNING = b"\x88" + header(b"content-type", b"application/grpc")  # \x88: ``:status: 200``


class Conversation:
    """With one client: ``hear`` takes what it says and returns what it is told."""

    def __init__(self, text: str) -> None:
        message = header(b"grpc-message", text.encode("ascii", "replace")[:126])
        self._refusal = BEGINNING + header(b"grpc-status", ABORTED) + message
        self._heard = b""
        self._to_skip = PREFACE
        self.greeting = frame(SETTINGS, 0, 0, REMEMBER_NOTHING)

    def hear(self, data: bytes) -> bytes:
        """ValueError if this is not HTTP/2."""
        self._heard += data
        answers = []
        while len(self._heard) >= self._to_skip + HEADER.size:
            high, low, kind, flags, stream = HEADER.unpack_from(self._heard, self._to_skip)
            length = high << 8 | low
            if length > LARGEST:
                raise ValueError(f"a frame of {length} bytes")
            end = self._to_skip + HEADER.size + length
            if len(self._heard) < end:
                break
            answers.append(self._answer(kind, flags, stream, self._heard[end - length : end]))
            self._heard, self._to_skip = self._heard[end:], 0
        return b"".join(answers)

    def _answer(self, kind: int, flags: int, stream: int, body: bytes) -> bytes:
        if kind == HEADERS and b"CloseSession" in body:  # it can have that
            done = header(b"grpc-status", OK)
            return (
                frame(HEADERS, END_HEADERS, stream, BEGINNING)
                + frame(DATA, 0, stream, EMPTY)
                + frame(HEADERS, END_HEADERS | END_STREAM, stream, done)
            )
        if kind == HEADERS:
            return frame(HEADERS, END_HEADERS | END_STREAM, stream, self._refusal)
        if kind in (SETTINGS, PING) and not flags & ACK:
            return frame(kind, ACK, 0, body if kind == PING else b"")
        return b""


class Epitaph:
    """Answers at the address of *reservation*, where nobody else listens, until it is closed."""

    def __init__(self, loop: Loop, reservation: system_socket.socket, text: str) -> None:
        self._loop, self._text = loop, text
        self._sockets: list[socket.socket] = []
        listener = self._adopt(socket.socket(fileno=os.dup(reservation.fileno())))
        try:
            listener.listen()
        except OSError:
            return  # somebody has taken the address, and will give an answer of their own
        loop.watch(listener.fileno(), READ, lambda: self._meet(listener))

    def close(self) -> None:
        for one in list(self._sockets):
            self._leave(one)

    def _adopt(self, one: socket.socket) -> socket.socket:
        one.setblocking(False)
        self._sockets.append(one)
        return one

    def _leave(self, one: socket.socket) -> None:
        self._sockets.remove(one)
        self._loop.unwatch(one.fileno())
        one.close()

    def _meet(self, listener: socket.socket) -> None:
        try:
            client = self._adopt(listener.accept()[0])
        except OSError:
            return  # it has gone again
        conversation = Conversation(self._text)
        self._loop.watch(client.fileno(), READ, lambda: self._converse(client, conversation))
        self._tell(client, conversation.greeting)

    def _converse(self, client: socket.socket, conversation: Conversation) -> None:
        try:
            data = client.recv(LARGEST)
            answer = conversation.hear(data)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            data = b""
        if data:
            self._tell(client, answer)
        else:
            self._leave(client)

    def _tell(self, client: socket.socket, answer: bytes) -> None:
        try:
            client.sendall(answer)
        except OSError:  # or it does not read what it is told
            self._leave(client)
