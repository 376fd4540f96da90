"""The first program of a task that the launcher dials: it listens on a port of its loopback.

Its text follows that of ``stub`` (``payload.listening_stub``), and this ``fetch`` replaces the one
there. Here the first word of the settings is ``:PORT``.
"""

from __future__ import annotations

import time

from ..shared.stdlib import socket
from .stub import Refused, encrypted, leave, receive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def fetch(
    secret: bytes,
    where: str,
    run: str,
    task: str,
    seconds: str,
    owner: str,
    certificate: str = "",
) -> tuple[Any, bytearray]:
    """The connection, and the runner that came over it; *seconds* is how long to wait.

    A peer without proof, which may be any process of the pod, makes way for the next.
    """
    end = time.monotonic() + float(seconds)
    reason, code = "nobody connected", 211
    listener = listen(int(where[1:]))
    while time.monotonic() < end:
        link = None
        try:
            listener.settimeout(max(end - time.monotonic(), 0.01))
            link = socket.socket(fileno=listener._accept()[0])
            link.settimeout(5)
            if certificate:
                link = encrypted(link, certificate)
            runner = receive(link, secret, run, task)
            listener.close()
            return link, runner
        except Refused as error:
            reason, code = str(error), 212
        except (OSError, ValueError) as error:
            if link:
                reason, code = getattr(error, "strerror", "nonsense") or "no answer", 212
        if link:
            link.close()
    leave(code, f"the launcher did not connect to port {where[1:]} of this task: {reason}")


def listen(port: int) -> Any:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError as error:
        leave(
            215,
            f"port {port} is taken, on which the launcher connects to this task: {error.strerror}",
        )
    listener.listen(16)
    return listener
