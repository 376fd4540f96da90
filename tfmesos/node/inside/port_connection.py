"""A connection to a port of the task, whose other end is on the machine of the launcher."""

from __future__ import annotations

import errno
import os

from ...shared import wire
from ...shared.channel import PIECE
from ...shared.stdlib import socket
from ..loop import READ, WRITE
from .work import CannotBegin, Work, careful

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .work import Opened

DIAL_TIME = 10.0  # seconds


class Connection(Work):
    """Each direction ends on its own: whoever has sent everything may still receive."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened.channel, opened.over)
        surroundings = opened.surroundings
        request = opened.request
        self._loop = surroundings.loop
        self._port = wire.count(request, "port")
        if not 0 < self._port < 65536:
            raise CannotBegin(2, f"there is no port {self._port}")
        own = [surroundings.host] if surroundings.host else []
        self._addresses = list(dict.fromkeys(["127.0.0.1", "::1", *own]))
        self._sending = bytearray()
        self._sent_all = False  # will whoever asked send no more?
        self._heard_all = False  # has the task sent all?
        self._is_connected = False
        self._socket: socket.socket | None = None
        self._timer = self._loop.after(DIAL_TIME, self._too_late)
        self._dial()

    def _dial(self) -> None:
        """Try the next address."""
        if not self._addresses:
            return self._fail(f"nothing listens on port {self._port}")
        host = self._addresses.pop(0)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            self._socket = socket.socket(family, socket.SOCK_STREAM)
            self._socket.setblocking(False)
            code = self._socket.connect_ex((host, self._port))
        except OSError:  # no such family here
            return self._dial_next()
        if code not in (0, errno.EINPROGRESS):
            return self._dial_next()
        self._loop.watch(self._socket.fileno(), WRITE, self._dialled)

    def _dial_next(self) -> None:
        self._close()
        self._dial()

    @careful
    def _dialled(self) -> None:
        assert self._socket is not None
        if self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return self._dial_next()
        if self._socket.getsockname() == self._socket.getpeername():
            return self._dial_next()  # TCP connects to itself if nobody listens
        self._timer.cancel()
        self._is_connected = True
        self._watch()

    @careful
    def _too_late(self) -> None:
        self._fail(f"no answer at port {self._port}")

    def take(self, data: bytes) -> None:
        self._sending += data
        self._watch()

    def end_of_input(self) -> None:
        self._sent_all = True
        self._watch()

    def has_room(self) -> None:
        self._watch()

    def _watch(self) -> None:
        if not self._is_connected or self._socket is None:
            return
        if self._sent_all and not self._sending:
            self._end_sending()
        if self._socket is None:
            return
        may_read = self.channel.room > 0 and not self._heard_all
        events = (READ if may_read else 0) | (WRITE if self._sending else 0)
        if events:
            self._loop.watch(self._socket.fileno(), events, self._ready)
        else:
            self._loop.unwatch(self._socket.fileno())

    def _end_sending(self) -> None:
        assert self._socket is not None
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it is closed already
        if self._heard_all:
            self._finish()

    @careful
    def _ready(self) -> None:
        try:
            self._send()
            self._receive()
        except OSError as error:
            return self._fail(str(error.strerror or os.strerror(error.errno or 0)))
        if not self.is_over:
            self._watch()

    def _send(self) -> None:
        assert self._socket is not None
        try:
            sent = self._socket.send(self._sending[:PIECE]) if self._sending else 0
        except BlockingIOError:
            return
        del self._sending[:sent]
        self.channel.took(sent)

    def _receive(self) -> None:
        assert self._socket is not None
        size = min(PIECE, self.channel.room)
        if size <= 0 or self._heard_all:
            return
        try:
            data = self._socket.recv(size)
        except BlockingIOError:
            return
        if data:
            return self.channel.write(data)
        self._heard_all = True
        self.channel.end()
        if self._sent_all and not self._sending:
            self._finish()

    def _finish(self) -> None:
        self.leave()
        self.done()

    def _fail(self, reason: str) -> None:
        self.leave()
        self.done(1, reason)

    def leave(self) -> None:
        self._timer.cancel()
        self._close()

    def _close(self) -> None:
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
            self._socket = None
