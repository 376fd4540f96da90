"""The runner's connection to the launcher: made, proved, and made again when it breaks."""

from __future__ import annotations

import errno
import os
import time

from ...errors import (
    CANNOT_REACH_LAUNCHER,
    HANDSHAKE_FAILED,
    LAUNCHER_LOST,
    FrameError,
    HandshakeError,
)
from ...shared import link_timeouts, process, wire
from ...shared.address import join_address
from ...shared.handshake import NONCE_BYTES, RunnerHandshake
from ...shared.stdlib import socket
from ..loop import READ, WRITE, Loop, Timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..runner_settings import Settings
    from .callers import Callers
    from .outbox import Outbox
    from .tls import TlsSocket

FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two attempts
READ_SIZE = 64 * 1024  # bytes


class Beside:
    """What is sent besides the counted messages, and is lost with a connection. Here: nothing."""

    def next(self) -> bytes | None:
        """The next frame to send."""
        return None

    def lost(self) -> None:
        """The connection is over."""


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
        heartbeat: Callable[[], wire.Message],
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._outbox = outbox
        self._receive = receive
        self._give_up = give_up
        self._heartbeat = heartbeat  # what each of them reports
        self._addresses: list[tuple[int, Any]] = []
        self._socket: socket.socket | TlsSocket | None = None
        self._handshake: RunnerHandshake | None = None
        self._decoder = wire.FrameDecoder()
        self._writing = bytearray()
        self._timer: Timer | None = None
        self._attempts = 0
        self._trouble: str | None = None  # of the last connection
        self._give_up_at = time.monotonic() + settings.connect_timeout
        self._received = 0  # numbered messages of the launcher
        self._last_heard = self._kept_alive_at = 0.0
        self._secret = settings.secret
        # Of the launcher that was heard last: how many there were, and where it is.
        self._epoch = 0
        self._holder = ""
        self._was_connected = False  # ever
        self.connected = False
        self.host = ""  # our address, as seen on the way to the launcher
        self.family = socket.AF_INET
        self.failure: tuple[int, str] | None = None
        self._request: Callable[[], wire.Message] | None = None
        self._callers: Callers | None = None  # where the launcher dials
        self._news = b""
        self.beside = Beside()

    def open(self, connection: socket.socket | TlsSocket | None) -> None:
        """Continue where the stub has proved the secret; the launcher's welcome comes next.

        Without a stub, and so without a connection, dial.
        """
        self._loop.before_wait(self.flush)
        if connection is None:
            return self._dial()
        if self._settings.listens:
            self._listen()
        if self._settings.certificate:
            connection = self._inside_tls(connection)
            self._loop.after(0, self._read)  # TLS may hold what came behind the runner
        self._socket = connection
        self._handshake = self._new_handshake()
        self._handshake.done = True
        self._decoder.limit = wire.MAX_FRAME
        connection.setblocking(False)
        self._set_up(connection)
        self._last_heard = time.monotonic()
        self._timer = self._loop.after(
            link_timeouts.HANDSHAKE_TIMEOUT, lambda: self._connection_lost("no answer")
        )

    def _listen(self) -> None:
        from .callers import Callers  # mostly we dial

        self._callers = Callers(self._loop, self._settings, self._new_handshake, self._take)

    def _take(self, connection: socket.socket | TlsSocket, proof: wire.Message) -> None:
        """Continue with the launcher at this connection; it counts the previous one as lost."""
        self._hang_up()
        self._socket = connection
        self._handshake = self._new_handshake()
        self._handshake.done = True
        self._decoder = wire.FrameDecoder(wire.MAX_FRAME)
        self._set_up(connection)
        self._writing = bytearray(wire.encode(dict(proof, received=self._received)))
        self._last_heard = time.monotonic()
        self._timer = self._loop.after(
            link_timeouts.HANDSHAKE_TIMEOUT, lambda: self._connection_lost("no answer")
        )
        self.flush()

    def close(self) -> None:
        self._hang_up()
        if self._callers is not None:
            self._callers.close()

    def _hang_up(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._socket is not None:
            self._loop.unwatch(self._socket.fileno())
            self._socket.close()
        self._socket = None
        self.connected = False
        self.beside.lost()

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
            return self._connection_lost(error.strerror)
        events = READ | WRITE if self._writing else READ
        self._loop.watch(self._socket.fileno(), events, self._read)

    def ask(self, request: Callable[[], wire.Message] | None) -> None:
        """Send what *request* returns: now, and after each reconnection."""
        self._request = request
        if request is not None and self.connected:
            self._writing += wire.encode(request())

    def tell(self, news: wire.Message) -> None:
        """Send *news* after all output so far, unless other news come before; not counted."""
        self._news = wire.encode(news)

    def _fill(self) -> bool:
        """Alternate between counted messages and others, so that neither waits for the other."""
        while self.connected and len(self._writing) < READ_SIZE:
            counted, beside = self._outbox.next(), self.beside.next()
            if counted is None:
                counted = self._news
                self._news = b""
            if not counted and not beside:
                break
            self._writing += counted
            self._writing += beside or b""
        return bool(self._writing)

    def _dial(self) -> None:
        try:
            self._socket = self._connect()
        except OSError as error:
            return self._connection_lost(error.strerror)
        time_left = max(self._give_up_at - time.monotonic(), FIRST_PAUSE)
        is_short = time_left < link_timeouts.HANDSHAKE_TIMEOUT  # the attempt before could tell more
        reason = (is_short and self._trouble) or "no answer"
        self._timer = self._loop.after(
            min(link_timeouts.HANDSHAKE_TIMEOUT, time_left), lambda: self._connection_lost(reason)
        )
        self._loop.watch(self._socket.fileno(), WRITE, self._dialled)

    def _connect(self) -> socket.socket:
        if not self._addresses:
            host, port = self._settings.launcher
            # ASCII as bytes: text would load the tables of Unicode.
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
                self._give_up_at = time.monotonic()  # the launcher has ended
            return self._connection_lost(os.strerror(code))
        here, there = self._socket.getsockname(), self._socket.getpeername()
        if here == there:  # TCP connects to itself if nobody listens on a local port
            return self._connection_lost("nothing listens there")
        self._set_up(self._socket)
        if self._settings.certificate:
            self._socket = self._inside_tls(self._socket)
            return self._check_certificate(self._socket)
        self._send_hello()

    def _inside_tls(self, connection: Any) -> TlsSocket:
        from .tls import TlsSocket  # not cheap, and often not needed

        return TlsSocket(connection)

    def _check_certificate(self, connection: TlsSocket) -> None:
        try:
            awaited = connection.shake_hands(self._settings.certificate)
        except OSError as error:
            return self._connection_lost(error.strerror)
        if awaited:
            return self._loop.watch(
                connection.fileno(), awaited, lambda: self._check_certificate(connection)
            )
        self._send_hello()

    def _set_up(self, connection: socket.socket | TlsSocket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        here = connection.getsockname()[0]
        self.host = here.partition("%")[0]
        self.family = connection.family
        if self._settings.address:
            self.host = self._settings.address
            self.family = socket.AF_INET6 if ":" in self.host else socket.AF_INET

    def _new_handshake(self) -> RunnerHandshake:
        return RunnerHandshake(
            self._secret,
            self._settings.run,
            self._settings.task,
            os.urandom(NONCE_BYTES),
            again=self._was_connected,
        )

    def _send_hello(self) -> None:
        self._handshake = self._new_handshake()
        self._decoder = wire.FrameDecoder()
        self._writing = bytearray(wire.encode(self._handshake.hello()))
        self.flush()

    def _read(self) -> None:
        """The socket may also be ready for writing, which is done before every wait."""
        assert self._socket is not None
        try:
            data = self._socket.recv(READ_SIZE)
        except BlockingIOError:
            return
        except OSError as error:
            return self._connection_lost(error.strerror)
        if not data:
            return self._connection_lost("the launcher closed the connection")
        self._last_heard = time.monotonic()
        try:
            for message in self._decoder.feed(data):
                self._handle(message)
        except HandshakeError as error:
            if not self._was_connected:  # the secret will not become right by waiting
                self._give_up_at = self._last_heard
            self._connection_lost(str(error))
        except FrameError as error:
            self._connection_lost(str(error))

    def _handle(self, message: wire.Message) -> None:
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
            raise HandshakeError(f"{message.get('type')!r} in place of 'welcome'")
        if wire.count({"epoch": 0, **message}, "epoch") < self._epoch:
            self._refuse()
            raise FrameError("another launcher holds the run")
        self._epoch = message.get("epoch", 0)
        self._holder = str(message.get("holder", ""))
        self._outbox.rewind(wire.count(message, "received"))
        self._secret = wire.secret(message)
        if not self._was_connected:
            self._settings.learn(wire.field(message, "settings", dict))
        self.connected = self._was_connected = True
        self._outbox.spills = False
        if self._settings.spills and self._outbox.spill is None:
            from .spill import Spill  # most runs end with their launcher

            self._outbox.spill = Spill()
        self._attempts = 0
        self._give_up_at = 0.0
        self._send_heartbeat()
        self.ask(self._request)

    def _refuse(self) -> None:
        """Tell a launcher that woke up too late who holds the run."""
        assert self._socket is not None
        news = {"type": "superseded", "holder": self._holder}
        try:
            self._socket.send(bytearray(wire.encode(news)))
        except OSError:
            pass  # it will find out

    def _send_heartbeat(self) -> None:
        """Also looks whether the launcher has been silent for too long."""
        is_silent = time.monotonic() - self._last_heard > self._settings.silence
        # On the same machine the socket of a lost launcher is closed.
        if is_silent and not self._settings.same_machine:
            return self._connection_lost("the launcher stopped responding")
        if not self._writing:
            self._writing += wire.encode({"type": "heartbeat", **self._heartbeat()})
        assert self._timer is not None
        self._timer.cancel()
        self._timer = self._loop.after(self._settings.heartbeat, self._send_heartbeat)

    def keep_alive(self) -> None:
        """For code that keeps the loop waiting for long: neither side must look dead."""
        now = time.monotonic()
        if self._socket is None or now - self._kept_alive_at < self._settings.heartbeat:
            return
        self._kept_alive_at = self._last_heard = now
        if not self._writing:
            self._writing += wire.encode({"type": "heartbeat", **self._heartbeat()})
        try:
            del self._writing[: self._socket.send(self._writing)]
        except OSError:
            pass  # the loop will see it

    def _connection_lost(self, reason: str | None) -> None:
        """This connection is over; make the next one soon, or give up."""
        refused = self._handshake is not None and not self.connected
        self._hang_up()
        self._outbox.spills = True
        self._handshake = None
        self._trouble = reason
        now = time.monotonic()
        if not self._give_up_at:
            self._give_up_at = now + self._settings.grace
        if process.is_stopped(self._settings.owner):  # a Ctrl-Z: it will go on
            self._give_up_at = now + self._settings.grace
            self._attempts = 0
        if now >= self._give_up_at:
            self.failure = self._describe_failure(reason, refused)
            return self._give_up()
        if self._settings.listens:
            wait = self._give_up_at - now
            self._timer = self._loop.after(wait, lambda: self._connection_lost(reason))
            return
        longest = min(LONGEST_PAUSE, self._give_up_at - now)
        pause = min(FIRST_PAUSE * 2 ** min(self._attempts, 10), longest)
        self._attempts += 1
        self._timer = self._loop.after(pause, self._dial)

    def _describe_failure(self, reason: str | None, refused: bool) -> tuple[int, str]:
        launcher = f"the launcher at {join_address(*self._settings.launcher)}"
        if self._was_connected and self._settings.listens:
            return LAUNCHER_LOST, f"the launcher is lost and did not connect again: {reason}"
        if self._was_connected:
            return LAUNCHER_LOST, f"{launcher} is lost: {reason}"
        if refused:
            return HANDSHAKE_FAILED, f"{launcher} and this task could not agree: {reason}"
        return CANNOT_REACH_LAUNCHER, f"{launcher} cannot be reached from this node: {reason}"
