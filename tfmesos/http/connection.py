"""One connection with its h11 state, for clients and servers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import h11

from .byte_stream import ByteStream

Headers = Mapping[str, str | tuple[str, ...]]  # a tuple: the header is sent several times

MAX_HEAD = 64 * 1024  # bytes of a head, or of a line between chunks


class HttpError(Exception):
    """The other side does not speak HTTP, or sends more than we accept."""

    def __init__(self, words: str, status: int = 400) -> None:
        super().__init__(words)
        self.status = status


class TooLarge(HttpError):
    def __init__(self, limit: int) -> None:
        super().__init__(f"a body of more than {limit} bytes", 413)


class Disconnected(ConnectionError):
    """The other side closed the connection in the middle of a message."""


class Connection:
    def __init__(self, stream: ByteStream, role: type[h11.CLIENT] | type[h11.SERVER]) -> None:
        self.stream = stream
        self._parser = h11.Connection(role, max_incomplete_event_size=MAX_HEAD)

    async def receive(self) -> h11.Event:
        """The next event from the other side; raises HttpError or OSError."""
        is_over = False
        while (event := self._next_event(is_over)) is h11.NEED_DATA:
            data = await self.stream.read()
            is_over = not data
            self._parser.receive_data(data)
        assert not isinstance(event, type)  # nobody reads ahead of the next cycle
        return event

    def _next_event(self, is_over: bool) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        try:
            return self._parser.next_event()
        except h11.RemoteProtocolError as error:
            if is_over:
                raise Disconnected("the connection was closed") from error
            raise HttpError(str(error), error.error_status_hint) from error

    def send(self, *events: h11.Event) -> None:
        """Write these events at once; HttpError if they cannot be sent."""
        try:
            self.stream.write(b"".join([self._parser.send(event) or b"" for event in events]))
        except h11.LocalProtocolError as error:
            raise HttpError(str(error)) from error

    @property
    def unparsed(self) -> bytes:
        return self._parser.trailing_data[0]

    @property
    def awaits_continue(self) -> bool:
        """Does the other side hold back its body until it is asked to continue?"""
        return self._parser.they_are_waiting_for_100_continue

    @property
    def has_unread_body(self) -> bool:
        return self._parser.their_state is h11.SEND_BODY

    @property
    def can_answer(self) -> bool:
        return self._parser.our_state in (h11.IDLE, h11.SEND_RESPONSE)

    def renew(self) -> bool:
        """Prepare for another request; False if there must not be one."""
        if {self._parser.our_state, self._parser.their_state} != {h11.DONE}:
            return False
        self._parser.start_next_cycle()
        return True


def read_headers(pairs: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """By their names in lower case; repeated ones are joined by commas."""
    headers: dict[str, str] = {}
    for name, value in pairs:
        text = value.decode("latin-1")
        key = name.decode("ascii")
        headers[key] = f"{headers[key]}, {text}" if key in headers else text
    return headers


def write_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    pairs = []
    for name, value in headers.items():
        values = (value,) if isinstance(value, str) else value
        pairs += [(name.encode(), one.encode()) for one in values]
    return pairs
