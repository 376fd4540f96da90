"""Answers at the address of a TensorFlow server after the server has ended.

TensorFlow's client waits forever, and ignores signals, for a server that does not listen; it
accepts an error as an answer. So every call gets a gRPC error, in the few HTTP/2 frames that this
takes.
"""

from __future__ import annotations

import os
import socket
import struct

from ..loop import READ, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...shared.stdlib import socket as c_socket

PREFACE_SIZE = 24  # bytes with which a client begins
HEADER = struct.Struct(">HBBBI")  # of a frame: its length in three bytes, type, flags, stream
MAX_FRAME = 16 * 1024  # bytes of a frame; we do not ask for larger ones
DATA, HEADERS, SETTINGS, PING = 0, 1, 4, 6
END_STREAM, ACK, END_HEADERS = 1, 1, 4
OK, ABORTED = b"0", b"10"  # statuses of gRPC; after neither a client tries again
EMPTY = bytes(5)  # a message of gRPC: not compressed, no bytes
NO_HEADER_TABLE = struct.pack(">HI", 1, 0)  # a setting: every header is spelt out each time


def frame(kind: int, flags: int, stream: int, body: bytes = b"") -> bytes:
    return HEADER.pack(len(body) >> 8, len(body) & 0xFF, kind, flags, stream) + body


def header(name: bytes, value: bytes) -> bytes:
    """Neither part is longer than 126 bytes."""
    return b"".join((b"\0", bytes([len(name)]), name, bytes([len(value)]), value))


BEGINNING = b"\x88" + header(b"content-type", b"application/grpc")  # \x88: ``:status: 200``


class Conversation:
    """A conversation with one client: ``feed`` takes what it sent and returns the answer."""

    def __init__(self, text: str) -> None:
        message = header(b"grpc-message", text.encode("ascii", "replace")[:126])
        self._refusal = BEGINNING + header(b"grpc-status", ABORTED) + message
        self._unread = b""
        self._to_skip = PREFACE_SIZE
        self.greeting = frame(SETTINGS, 0, 0, NO_HEADER_TABLE)

    def feed(self, data: bytes) -> bytes:
        """ValueError if this is not HTTP/2."""
        self._unread += data
        answers = []
        while len(self._unread) >= self._to_skip + HEADER.size:
            high, low, kind, flags, stream = HEADER.unpack_from(self._unread, self._to_skip)
            length = high << 8 | low
            if length > MAX_FRAME:
                raise ValueError(f"a frame of {length} bytes")
            end = self._to_skip + HEADER.size + length
            if len(self._unread) < end:
                break
            answers.append(self._answer(kind, flags, stream, self._unread[end - length : end]))
            self._unread = self._unread[end:]
            self._to_skip = 0
        return b"".join(answers)

    def _answer(self, kind: int, flags: int, stream: int, body: bytes) -> bytes:
        if kind == HEADERS and b"CloseSession" in body:  # the client waits for its success
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


class DeadServer:
    """Answers at the address of *reservation*, where nobody else listens, until it is closed."""

    def __init__(self, loop: Loop, reservation: c_socket.socket, text: str) -> None:
        self._loop = loop
        self._text = text
        self._sockets: list[socket.socket] = []
        listener = self._add(socket.socket(fileno=os.dup(reservation.fileno())))
        try:
            listener.listen()
        except OSError:
            return  # another program has taken the address, and answers there
        loop.watch(listener.fileno(), READ, lambda: self._accept(listener))

    def close(self) -> None:
        for connection in list(self._sockets):
            self._close(connection)

    def _add(self, new: socket.socket) -> socket.socket:
        new.setblocking(False)
        self._sockets.append(new)
        return new

    def _close(self, old: socket.socket) -> None:
        self._sockets.remove(old)
        self._loop.unwatch(old.fileno())
        old.close()

    def _accept(self, listener: socket.socket) -> None:
        try:
            client = self._add(listener.accept()[0])
        except OSError:
            return  # the client has gone again
        conversation = Conversation(self._text)
        self._loop.watch(client.fileno(), READ, lambda: self._read(client, conversation))
        self._send(client, conversation.greeting)

    def _read(self, client: socket.socket, conversation: Conversation) -> None:
        try:
            data = client.recv(MAX_FRAME)
            answer = conversation.feed(data)
        except BlockingIOError:
            return
        except (OSError, ValueError):
            data = b""
        if data:
            self._send(client, answer)
        else:
            self._close(client)

    def _send(self, client: socket.socket, answer: bytes) -> None:
        try:
            client.sendall(answer)
        except OSError:  # the client has gone, or does not read
            self._close(client)
