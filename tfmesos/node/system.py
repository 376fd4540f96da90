"""Sockets and signals straight from C: their Python modules are all enums, and cost a start."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    import socket as socket
else:
    try:
        import _signal as signal
        import _socket as socket
    except ImportError:  # not CPython
        import signal
        import socket

__all__ = ["signal", "socket"]
