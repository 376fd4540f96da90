"""How we show a master who we are; and TLS towards it, with verification always on."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from .errors import SpecError
from .launch import Access
from .secret import Secret

if TYPE_CHECKING:
    import ssl


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
    """None where nothing was said: the certificates of this machine are trusted then."""
    if not access.ca_file and not access.cert_file:
        return None
    import ssl  # not cheap, and most masters speak plain HTTP

    context = _context(access.ca_file)
    if access.cert_file:
        try:
            context.load_cert_chain(access.cert_file, access.key_file)
        except (OSError, ssl.SSLError) as error:
            raise SpecError(None, "cert_file", _problem(access.cert_file, error)) from error
    return context


def _context(ca_file: str | None) -> ssl.SSLContext:
    import ssl

    try:
        return ssl.create_default_context(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise SpecError(None, "ca_file", _problem(str(ca_file), error)) from error


def _problem(path: str, error: OSError) -> str:
    return f"cannot be used: {path}: {error.strerror or error}"
