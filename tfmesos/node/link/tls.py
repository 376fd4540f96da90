"""The link inside TLS, for runs whose launcher has a certificate; runners know it by its hash."""

from __future__ import annotations

import ssl
from hashlib import sha256

from ..loop import READ, WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...shared.stdlib import socket


class TlsSocket:
    """A connection inside TLS that the loop can wait for like any other.

    *connection* may use TLS already. Other attributes are those of the connection.
    """

    def __init__(self, connection: socket.socket) -> None:
        if isinstance(connection, ssl.SSLSocket):
            self._tls = connection
        else:
            self._tls = _context().wrap_socket(connection, do_handshake_on_connect=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tls, name)

    def shake_hands(self, certificate: str) -> int:
        """What to wait for before the next call, or 0 if the other side has this certificate."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return READ
        except ssl.SSLWantWriteError:
            return WRITE
        shown = self._tls.getpeercert(binary_form=True) or b""
        if sha256(shown).hexdigest() != certificate:
            raise OSError(0, "the launcher has another certificate")
        return 0

    def send(self, data: bytearray) -> int:
        try:
            return self._tls.send(data)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def recv(self, size: int) -> bytes:
        """Returns everything decrypted: nothing wakes the loop for data that TLS already holds."""
        try:
            data = self._tls.recv(size)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None
        while rest := self._tls.pending():
            data += self._tls.recv(rest)
        return data


def _context() -> ssl.SSLContext:
    """Only the hash of the certificate decides what to trust, as in ``stub``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context
