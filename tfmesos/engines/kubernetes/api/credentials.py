"""The headers and the TLS of each question, renewed when they expire."""

from __future__ import annotations

import asyncio
import base64
import logging
import os
import ssl
import time

from ....config.secret import Secret
from ....errors import EngineError, UnreadableFile
from ....plain_file import beginning
from .access import Access
from .exec_plugin import Credential, run

log = logging.getLogger(__name__)

EARLY = 10.0  # seconds before its end that a credential counts as expired
READ_AGAIN = 60.0  # seconds after which the file of a token is read again: it rotates


class Credentials:
    """The credentials of one client. Plugins and files are read at the first request."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self._login = access.login
        self._given: Credential | None = None  # by the plugin
        # of a file
        self._token = ""
        self._read_at = float("-inf")
        if self._login.token:
            self._token = self._login.token.reveal()  # as long as there is no file
        self._context: ssl.SSLContext | None = None
        self._shown: Secret | None = None  # the certificate of the plugin in it
        self._order = asyncio.Lock()  # one plugin at a time

    async def headers(self) -> dict[str, str | tuple[str, ...]]:
        """Who we are, and who we act as."""
        acting = {"Impersonate-User": self._login.acts_as} if self._login.acts_as else {}
        groups = {"Impersonate-Group": self._login.acts_in} if self._login.acts_in else {}
        return {**await self._authorization(), **acting, **groups}

    async def _authorization(self) -> dict[str, str]:
        credential = await self._credential()
        token = credential.token or self._login.token
        if self._login.token_file:
            token = Secret(self._token_of_file())
        if token:
            return {"Authorization": f"Bearer {token.reveal()}"}
        if self._login.password is not None:
            pair = f"{self._login.username}:{self._login.password.reveal()}"
            return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}
        return {}

    async def tls(self) -> ssl.SSLContext | None:
        """The same one until a plugin gives another certificate; None for plain HTTP."""
        if self._access.server.startswith("http://"):
            return None
        credential = await self._credential()
        if self._context is None:
            self._context = _context(self._access, credential)
        return self._context

    async def renew(self) -> bool:
        """Drop what the server no longer accepts; False if there is nothing else."""
        if self._login.plugin is None and not self._login.token_file:
            return False
        self._given = None
        self._read_at = float("-inf")
        return True

    async def _credential(self) -> Credential:
        if self._login.plugin is None:
            return Credential()
        async with self._order:
            if self._given is None or self._is_expired(self._given):
                self._given = await run(self._login.plugin, self._access)
                if self._given.certificate != self._shown:
                    self._shown = self._given.certificate
                    self._context = None
            return self._given

    def _is_expired(self, given: Credential) -> bool:
        return given.expires is not None and given.expires - time.time() < EARLY

    def _token_of_file(self) -> str:
        now = time.monotonic()
        if now - self._read_at > READ_AGAIN:
            try:
                self._token = beginning(self._login.token_file, 64 * 1024).decode().strip()
            except (OSError, ValueError) as error:
                unread = unreadable("the token", self._login.token_file, error)
                if not self._token:
                    raise unread from None
                log.info("%s; still using the last token", unread)
            self._read_at = now
        return self._token


def unreadable(what: str, path: str, error: OSError | ValueError) -> UnreadableFile:
    reason = getattr(error, "strerror", None) or "it is not text"
    return UnreadableFile(None, "master", f"needs {what} in {path}, which cannot be read: {reason}")


def _context(access: Access, credential: Credential) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cadata=access.authority or None)
    except (ssl.SSLError, ValueError):
        raise _unusable(access, "certificate-authority") from None
    if not access.is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    certificate = credential.certificate or access.login.certificate
    key = credential.key or access.login.key
    if certificate is not None and key is not None:
        try:
            _load(context, f"{certificate.reveal()}\n{key.reveal()}\n")
        except (ssl.SSLError, OSError, ValueError):
            raise _unusable(access, "client-certificate and its key") from None
    return context


def _unusable(access: Access, what: str) -> EngineError:
    return EngineError(f"the {what} of context {access.context!r} cannot be used: it is not PEM")


def _load(context: ssl.SSLContext, pem: str) -> None:
    """Python reads keys from files only; this one is in memory, and nobody else sees it."""
    if not hasattr(os, "memfd_create"):
        return _load_from_file(context, pem)
    fd = os.memfd_create("key")
    try:
        os.write(fd, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{fd}", password=_no_password)
    finally:
        os.close(fd)


def _load_from_file(context: ssl.SSLContext, pem: str) -> None:
    from tempfile import NamedTemporaryFile  # its mode is 0600

    with NamedTemporaryFile(suffix=".pem") as file:
        file.write(pem.encode())
        file.flush()
        context.load_cert_chain(file.name, password=_no_password)


def _no_password() -> str:
    """Keeps OpenSSL from asking on the terminal."""
    return ""
