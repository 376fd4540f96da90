"""Credentials for a master, and TLS with verification always on."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ....config.launch_config import Access
from ....config.secret import Secret
from ....errors import SpecError, UnreadableFile
from ....plain_file import opened

if TYPE_CHECKING:
    import ssl

SILENCE = 1.0  # seconds; a server that waits for a request says nothing
CIPHERS_HINT = (
    "it and Python have no cipher in common: those of Mesos are too weak by default; its operator"
    " should start master and agents with"
    " LIBPROCESS_SSL_CIPHERS=ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES128-GCM-SHA256:AES128-SHA"
)
CERTIFICATE_HINT = (
    "it requires a trusted client certificate: give the files of the certificate and its key"
)


def authorization(
    credential: tuple[str, Secret] | None = None, token: Secret | None = None
) -> dict[str, str]:
    """The HTTP header for a principal and its secret, or for a token; none without either."""
    if credential:
        principal, secret = credential
        encoded = base64.b64encode(f"{principal}:{secret.reveal()}".encode()).decode()
        return {"Authorization": f"Basic {encoded}"}
    return {"Authorization": f"token={token.reveal()}"} if token else {}


def tls_context(access: Access) -> ssl.SSLContext | None:
    """None if nothing was given: then the certificates that this machine trusts apply."""
    if not access.ca_file and not access.cert_file:
        return None
    import ssl  # not cheap, and most masters speak plain HTTP

    for field in ("ca_file", "cert_file", "key_file"):
        _refuse_irregular(field, getattr(access, field))
    context = _context(access.ca_file)
    if access.cert_file:
        try:
            context.load_cert_chain(access.cert_file, access.key_file)
        except (OSError, ssl.SSLError) as error:
            raise _unusable("cert_file", access.cert_file, error) from error
    return context


def handshake_hint(url: str, context: ssl.SSLContext | None, timeout: float) -> str:
    """Why a server cuts our connections off during the handshake, if that is the reason."""
    import ssl

    ended, cipher = _handshake(url, context or ssl.create_default_context(), timeout)
    if not ended:
        return ""
    if cipher:
        return CERTIFICATE_HINT
    anything = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    anything.check_hostname = False
    anything.verify_mode = ssl.CERT_NONE
    anything.set_ciphers("ALL:@SECLEVEL=0")
    _, cipher = _handshake(url, anything, timeout, silence=0.0)
    return CIPHERS_HINT if cipher else ""


def _handshake(
    url: str, context: ssl.SSLContext, timeout: float, silence: float = SILENCE
) -> tuple[bool, bool]:
    """Whether the server ends a connection that says nothing, and whether a cipher was agreed on.

    With TLS 1.3 it complains of a missing certificate only after the handshake.
    """
    import socket
    import ssl

    where = urlsplit(url)
    try:
        plain = socket.create_connection((where.hostname, where.port or 443), timeout)
    except OSError:
        return False, False
    with context.wrap_socket(
        plain, server_hostname=where.hostname, do_handshake_on_connect=False
    ) as connection:
        try:
            connection.do_handshake()
            connection.settimeout(min(timeout, silence))
            ended = not connection.recv(1)
        except (TimeoutError, ssl.SSLCertVerificationError):
            ended = False
        except OSError:
            ended = True
        return ended, connection.cipher() is not None


def _refuse_irregular(field: str, path: str | None) -> None:
    """OpenSSL opens files itself; it would wait for the writer of a FIFO and ignore signals."""
    if path:
        try:
            opened(path).close()
        except OSError as error:
            raise _unusable(field, path, error) from error


def _context(ca_file: str | None) -> ssl.SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise _unusable("ca_file", str(ca_file), error) from error


def _unusable(field: str, path: str, error: OSError) -> SpecError:
    import ssl

    kind = SpecError if isinstance(error, ssl.SSLError) else UnreadableFile
    return kind(None, field, f"cannot be used: {path}: {error.strerror or error}")
