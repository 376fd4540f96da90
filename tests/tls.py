"""Real TLS: certificates made by openssl, contexts, and a server that says why it hangs up."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# What libprocess allows unless it is told otherwise, as far as today's OpenSSL still knows it.
CIPHERS_OF_MESOS = "AES128-SHA:AES256-SHA:DHE-RSA-AES128-SHA:DHE-RSA-AES256-SHA:@SECLEVEL=0"


def make_certificate(path: Path, *names: str) -> Path:
    """Key and certificate in one file, signed by itself, for such names as IP:127.0.0.1."""
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=test".split()
    alternatives = ["-addext", f"subjectAltName={','.join(names)}"] if names else []
    where = ["-keyout", str(path), "-out", f"{path}.crt"]
    subprocess.run([*command, *alternatives, *where], check=True, capture_output=True)
    path.write_text(path.read_text() + path.with_name(f"{path.name}.crt").read_text())
    return path


def server_context(
    certificate: Path,
    *,
    trusted_clients: Path | None = None,
    ciphers: str = "",
    newest: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.maximum_version = newest
    if trusted_clients:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(trusted_clients)
    if ciphers:
        context.set_ciphers(ciphers)
    return context


@contextmanager
def blunt_server(context: ssl.SSLContext) -> Iterator[str]:
    """Where somebody shakes hands, with an alert if that fails, and never answers a request.

    asyncio's servers hang up without the alert, so that both kinds are met in the tests.
    """
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_shake_hands, args=(listener, context))
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            listener.shutdown(socket.SHUT_RDWR)  # wakes the thread
            thread.join()


def _shake_hands(listener: socket.socket, context: ssl.SSLContext) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        connection.settimeout(10)
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as secure:
            while secure.recv(4096):
                pass
