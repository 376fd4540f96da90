"""What the runner needs of the standard library, straight from the C modules beneath it.

json, hmac, collections, signal and socket cost a runner as much as the start of its Python: most
of that is for regular expressions, OpenSSL and enums, which it does not use. Where a Python lacks
one of the C modules, the usual one takes its place.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as signal
    import socket as socket
    from collections import deque as deque
    from collections.abc import Callable
    from hashlib import sha256 as sha256
    from hmac import compare_digest as compare_digest
    from typing import Any

    encode: Callable[[Any, int], list[str]]
else:
    try:
        import _signal as signal
        import _socket as socket
    except ImportError:  # not CPython
        import signal
        import socket
    try:
        from _collections import deque
        from _operator import _compare_digest as compare_digest
    except ImportError:
        from collections import deque
        from hmac import compare_digest
    try:
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256  # before Python 3.12
        except ImportError:
            from hashlib import sha256

__all__ = ["compare_digest", "deque", "dumps", "hmac_sha256", "prctl", "sha256", "signal", "socket"]

_BLOCK = 64  # bytes, of SHA-256
_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


def hmac_sha256(key: bytes, message: bytes) -> str:
    """RFC 2104, in hexadecimal."""
    if len(key) > _BLOCK:
        key = sha256(key).digest()
    key = key.ljust(_BLOCK, b"\0")
    inner = sha256(key.translate(_INNER) + message).digest()
    return sha256(key.translate(_OUTER) + inner).hexdigest()


def prctl(option: int, value: int) -> bool:
    """Set something of this process, on Linux. ctypes would take ten times as long."""
    try:
        import _ctypes

        function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        return bool(_ctypes.call_function(function, (option, value)) == 0)
    except (ImportError, AttributeError, OSError):
        return False  # another system, or not CPython


def dumps(value: Any) -> str:
    """Compact JSON, in ASCII; ValueError or TypeError for what JSON cannot hold."""
    return "".join(encode(value, 0))


def _refuse_object(value: object) -> None:
    raise TypeError(f"{type(value).__name__} is not JSON")


if not TYPE_CHECKING:
    try:
        from _json import encode_basestring_ascii, make_encoder

        encode = make_encoder(
            None, _refuse_object, encode_basestring_ascii, None, ":", ",", False, False, False
        )
    except (ImportError, TypeError, AttributeError):
        from json import JSONEncoder

        encode = JSONEncoder(separators=(",", ":"), allow_nan=False).iterencode
