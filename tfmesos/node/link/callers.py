"""Connections to a runner that its launcher dials, until one of them proves the secret.

Any process of the pod may connect. Only a few connections are kept, and briefly, so that none of
them keeps the launcher away. Listening continues while the launcher is connected: it may notice
before us that the connection is broken.
"""

from __future__ import annotations

from ...errors import FrameError, HandshakeError
from ...shared import link_timeouts, wire
from ...shared.stdlib import socket
from ..loop import READ, Loop, Timer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ...shared.handshake import RunnerHandshake
    from ..runner_settings import Settings

MAX_CALLERS = 8  # the oldest leaves for one more
BACKLOG = 16


class Callers:
    """Gives *take* each connection whose other side has proved the secret, and our own proof."""

    def __init__(
        self,
        loop: Loop,
        settings: Settings,
        new_handshake: Callable[[], RunnerHandshake],
        take: Callable[[Any, wire.Message], None],
    ) -> None:
        """OSError if the port is taken."""
        self._loop = loop
        self._certificate = settings.certificate
        self._new_handshake = new_handshake
        self._take = take
        self._callers: list[_Caller] = []  # the oldest first
        self._listener = _listener(settings.launcher)
        loop.watch(self._listener.fileno(), READ, self._accept)

    def close(self) -> None:
        for caller in list(self._callers):
            self._drop(caller)
        self._loop.unwatch(self._listener.fileno())
        self._listener.close()

    def _accept(self) -> None:
        try:
            fd, _ = self._listener._accept()
        except OSError:
            return  # it has gone again
        connection: Any = socket.socket(fileno=fd)
        connection.setblocking(False)
        if self._certificate:
            from .tls import TlsSocket

            connection = TlsSocket(connection)
        if len(self._callers) >= MAX_CALLERS:
            self._drop(self._callers[0])
        caller = _Caller(connection, self._new_handshake())
        caller.timer = self._loop.after(link_timeouts.HANDSHAKE_TIMEOUT, lambda: self._drop(caller))
        self._callers.append(caller)
        self._greet(caller)

    def _greet(self, caller: _Caller) -> None:
        """Say hello, inside TLS if the launcher has a certificate."""
        try:
            awaited = caller.link.shake_hands(self._certificate) if self._certificate else 0
            if awaited:
                fd = caller.link.fileno()
                return self._loop.watch(fd, awaited, lambda: self._greet(caller))
            caller.link.send(bytearray(wire.encode(caller.handshake.hello())))
        except OSError:
            return self._drop(caller)
        self._loop.watch(caller.link.fileno(), READ, lambda: self._read(caller))

    def _read(self, caller: _Caller) -> None:
        try:
            data = caller.link.recv(wire.MAX_GREETING)
            messages = list(caller.decoder.feed(data))
            proof = caller.handshake.feed(messages[0]) if messages else None
        except BlockingIOError:
            return
        except (OSError, FrameError, HandshakeError):
            return self._drop(caller)
        if proof is not None:
            self._release(caller)
            self._take(caller.link, proof)
        elif not data:
            self._drop(caller)

    def _drop(self, caller: _Caller) -> None:
        self._release(caller)
        caller.link.close()

    def _release(self, caller: _Caller) -> None:
        if caller.timer is not None:
            caller.timer.cancel()
        self._loop.unwatch(caller.link.fileno())
        self._callers.remove(caller)


class _Caller:
    """A connection whose other side has proved nothing yet."""

    def __init__(self, link: Any, handshake: RunnerHandshake) -> None:
        self.link = link
        self.handshake = handshake
        self.decoder = wire.FrameDecoder()
        self.timer: Timer | None = None


def _listener(address: tuple[str, int]) -> Any:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener
