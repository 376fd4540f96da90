"""The runner's connection to the launcher: made, proved, and made again when it breaks."""

from __future__ import annotations

import errno
import os
import time

from ..errors import (
    CANNOT_REACH_LAUNCHER,
    HANDSHAKE_FAILED,
    LAUNCHER_LOST,
    FrameError,
    HandshakeError,
)
from . import process, timings, wire
from .address import join_address
from .handshake import NONCE_BYTES, RunnerHandshake
from .loop import READ, WRITE, Loop, Timer
from .stdlib import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .outbox import Outbox
    from .settings import Settings

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts
CHUNK = 64 * 1024  # bytes


class Link:
    """One TCP connection at a time; numbered messages survive the change to the next one.

    ``failure`` is the exit code and the sentence for the end, once it has given up; then
    *give_up* is called.
    """

    def __init__(
        self,
        loop: Loop,
        settings: Settings,
        outbox: Outbox,
        receive: Callable[[wire.Message], None],
        give_up: Callable[[], None],
        silent: Callable[[], int],
    ) -> None:
        self._loop, self._settings, self._outbox = loop, settings, outbox
        self._receive, self._give_up, self._silent = receive, give_up, silent
        self._addresses: list[tuple[int, Any]] = []
        self._socket: socket.socket | None = None
        self._handshake: RunnerHandshake | None = None
        self._decoder = wire.FrameDecoder()
        self._writing = bytearray()
        self._timer: Timer | None = None
        self._attempts = 0
        self._give_up_at = time.monotonic() + settings.connect_timeout
        self._received = 0  # numbered messages of the launcher
        self._heard = 0.0
        self._secret = settings.secret
        self._met = False  # whether there was a launcher at all
        self.connected = False
        self.host = ""  # our address, as seen on the way to the launcher
        self.family = socket.AF_INET
        self.failure: tuple[int, str] | None = None

    def open(self, connection: socket.socket) -> None:
        """Go on where the stub has proved the secret; the launcher's welcome comes next."""
        self._loop.before_wait(self.flush)
        self._socket, self._handshake = connection, self._new_handshake()
        self._handshake.done = True
        self._decoder.limit = wire.MAX_FRAME
        connection.setblocking(False)
        self._meet(connection)
        self._heard = time.monotonic()
        self._timer = self._loop.after(timings.HANDSHAKE_TIMEOUT, lambda: self._break("no answer"))

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
        self._socket, self.connected = None, False

    def flush(self) -> None:
        """Send as much as the connection takes now."""
        if self._socket is None or self._handshake is None:
            return
        try:
            while self._fill():
                del self._writing[: self._socket.send(self._writing)]
        except BlockingIOError:
            pass
        except OSError as error:
            return self._break(error.strerror)
        events = READ | WRITE if self._writing else READ
        self._loop.watch(self._socket.fileno(), events, self._ready)

    def _fill(self) -> bool:
        while self.connected and len(self._writing) < CHUNK:
            frame = self._outbox.next()
            if frame is None:
                break
            self._writing += frame
        return bool(self._writing)

    def _dial(self) -> None:
        try:
            self._socket = self._begin()
        except OSError as error:
            return self._break(error.strerror)
        time_left = max(self._give_up_at - time.monotonic(), FIRST_PAUSE)
        self._timer = self._loop.after(
            min(timings.HANDSHAKE_TIMEOUT, time_left), lambda: self._break("no answer")
        )
        self._loop.watch(self._socket.fileno(), WRITE, self._dialled)

    def _begin(self) -> socket.socket:
        if not self._addresses:
            host, port = self._settings.launcher
            # As bytes where that will do: text goes through the tables of Unicode.
            name = host.encode("ascii") if host.isascii() else host
            found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
            self._addresses = [(entry[0], entry[4]) for entry in found]
        family, address = self._addresses[self._attempts % len(self._addresses)]
        connection = socket.socket(family, socket.SOCK_STREAM)
        connection.setblocking(False)
        code = connection.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            connection.close()
            raise OSError(code, os.strerror(code))
        return connection

    def _dialled(self) -> None:
        assert self._socket is not None
        code = self._socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            if self._settings.owner and not process.exists(self._settings.owner):
                self._give_up_at = time.monotonic()  # it will not come back
            return self._break(os.strerror(code))
        here, there = self._socket.getsockname(), self._socket.getpeername()
        if here == there:  # TCP can meet itself when nobody listens on a local port
            return self._break("nobody listens there")
        self._meet(self._socket)
        self._greet()

    def _meet(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        here = connection.getsockname()[0]
        self.host, self.family = here.partition("%")[0], connection.family

    def _new_handshake(self) -> RunnerHandshake:
        me = (self._settings.run, self._settings.task)
        nonce = os.urandom(NONCE_BYTES)
        return RunnerHandshake(self._secret, *me, nonce, again=self._met)

    def _greet(self) -> None:
        self._handshake = self._new_handshake()
        self._decoder = wire.FrameDecoder()
        self._writing = bytearray(wire.encode(self._handshake.hello()))
        self.flush()

    def _ready(self) -> None:
        """The socket can be read, or written; the latter is done before every wait."""
        assert self._socket is not None
        try:
            data = self._socket.recv(CHUNK)
        except BlockingIOError:
            return
        except OSError as error:
            return self._break(error.strerror)
        if not data:
            return self._break("the launcher closed the connection")
        self._heard = time.monotonic()
        try:
            for message in self._decoder.feed(data):
                self._take(message)
        except HandshakeError as error:
            if not self._met:  # the secret will not become right by waiting
                self._give_up_at = self._heard
            self._break(str(error))
        except FrameError as error:
            self._break(str(error))

    def _take(self, message: wire.Message) -> None:
        assert self._handshake is not None
        kind = message.get("type")
        if not self._handshake.done:
            proof = self._handshake.feed(message)
            self._writing += wire.encode(dict(proof, received=self._received))
            self._decoder.limit = wire.MAX_FRAME
        elif not self.connected:
            self._welcomed(message)
        elif kind == "ack":
            self._outbox.acknowledge(wire.count(message, "received"))
        else:
            self._received += kind in wire.NUMBERED
            self._receive(message)

    def _welcomed(self, message: wire.Message) -> None:
        if message.get("type") != "welcome":
            raise HandshakeError("{!r} where 'welcome' was due".format(message.get("type")))
        self._outbox.rewind(wire.count(message, "received"))
        self._secret = wire.secret(message)
        if not self._met:
            self._settings.learn(wire.field(message, "settings", dict))
        self.connected = self._met = True
        self._attempts = 0
        self._give_up_at = 0.0
        self._beat()

    def _beat(self) -> None:
        """Show that we live, and see that the launcher does."""
        is_silent = time.monotonic() - self._heard > self._settings.silence
        if (
            is_silent and not self._settings.same_machine
        ):  # there a lost launcher is a closed socket
            return self._break("the launcher fell silent")
        if not self._writing:
            self._writing += wire.encode({"type": "heartbeat", "silent": self._silent()})
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.after(self._settings.heartbeat, self._beat)

    def _break(self, reason: str | None) -> None:
        """This connection is over; make the next one soon, or give up."""
        refused = self._handshake is not None and not self.connected
        self.close()
        self._handshake = None
        now = time.monotonic()
        if not self._give_up_at:
            self._give_up_at = now + self._settings.grace
        if process.is_stopped(self._settings.owner):  # a Ctrl-Z: it will go on
            self._give_up_at, self._attempts = now + self._settings.grace, 0
        if now >= self._give_up_at:
            self.failure = self._verdict(reason, refused)
            return self._give_up()
        longest = min(LONGEST_PAUSE, self._give_up_at - now)
        pause = min(FIRST_PAUSE * 2 ** min(self._attempts, 10), longest)
        self._attempts += 1
        self._timer = self._loop.after(pause, self._dial)

    def _verdict(self, reason: str | None, refused: bool) -> tuple[int, str]:
        where = join_address(*self._settings.launcher)
        if self._met:
            text = f"the launcher at {where} is lost: {reason}"
            return LAUNCHER_LOST, text
        if refused:
            text = "the launcher at {} and this task do not agree on the secret: {}"
            return HANDSHAKE_FAILED, text.format(where, reason)
        text = "the launcher at {} cannot be reached from this node: {}"
        return CANNOT_REACH_LAUNCHER, text.format(where, reason)
