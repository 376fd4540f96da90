"""A port that is held for a program until that listens there itself."""

from __future__ import annotations

from .stdlib import socket


def reserve(family: int, port: int = 0) -> socket.socket:
    """Hold *port* (0: any free one) so that nobody else gets it.

    Bound but not listening, and with SO_REUSEADDR: a server that sets the same option, as
    TensorFlow's does, can bind beside it. The caller closes it.
    """
    reservation = socket.socket(family, socket.SOCK_STREAM)
    try:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("", port))
    except OSError:
        reservation.close()
        raise
    return reservation
