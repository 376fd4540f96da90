"""Code and files from an address: http, https, file, or a path of this machine.

Downloads are not trusted: their size, time and form are limited here.
"""

from __future__ import annotations

import os
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from typing import IO, Any

from ... import plain_file
from ...config.secret import without_password
from ...errors import CannotRead, CannotWrite
from .archive import BadArchive, unpack

MAX_BYTES = 200 * 1024 * 1024  # of a download
ANSWER_TIMEOUT = 30.0  # seconds for the next part of an answer
WHOLE_TIMEOUT = 600.0  # seconds for all of it
MAX_CHECKED = 1024 * 1024  # bytes of a Python file
AT_ONCE = 256 * 1024  # bytes that are read at once


def fetch(address: str) -> IO[bytes]:
    """The content of *address*, in a file without a name.

    Raises CannotRead, which names the address.

    A thread that waits for a server may be abandoned at any time: nothing is left behind.
    """
    file = tempfile.TemporaryFile()
    try:
        with _opened(address) as answer:
            _copy(address, answer, file)
        file.seek(0)
        return file
    except (OSError, HTTPException, ValueError) as error:
        file.close()
        raise _cannot(address, f"cannot be fetched: {_reason(error)}") from None
    except BaseException:
        file.close()
        raise


def unpack_code(
    address: str, file: IO[bytes], directory: str, is_stopped: Callable[[], bool] = lambda: False
) -> None:
    """Put what was fetched into *directory*: a ``.py`` as it is, a zip or tar unpacked.

    Raises CannotRead, which names the address, and Stopped if it is given up.
    """
    try:
        if not unpack(file, directory, is_stopped):
            _keep_python(address, file, directory)
    except BadArchive as error:
        raise _cannot(address, str(error)) from None


def _opened(address: str) -> Any:
    scheme, host, *_ = urllib.parse.urlsplit(address)
    if not scheme:
        return plain_file.opened(address)
    if scheme == "file":
        path = urllib.request.url2pathname(urllib.parse.urlsplit(address).path)
        return plain_file.opened(path)
    if scheme not in ("http", "https"):
        raise ValueError("it must begin with http, https or file, or be a path")
    if "@" in host:
        raise ValueError("it must not contain a user or password, which everybody could read")
    return urllib.request.urlopen(address, timeout=ANSWER_TIMEOUT)


def _copy(address: str, answer: Any, file: IO[bytes]) -> None:
    """``read`` would wait for all of AT_ONCE, however slowly it arrives."""
    end, size = time.monotonic() + WHOLE_TIMEOUT, 0
    while data := answer.read1(AT_ONCE):
        size += len(data)
        if size > MAX_BYTES:
            raise _cannot(address, f"is larger than {MAX_BYTES // 2**20} MiB")
        if time.monotonic() > end:
            raise too_slow(address)
        _write(file, data)


def _write(file: IO[bytes], data: bytes) -> None:
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        raise CannotWrite(f"no room for the download: {error.strerror}") from None


def _keep_python(address: str, file: IO[bytes], directory: str) -> None:
    name = os.path.basename(urllib.parse.urlsplit(address).path)
    if not name.endswith(".py"):
        raise _cannot(address, "is neither a Python file (.py) nor a zip or tar")
    file.seek(0)
    text = file.read()
    try:
        if len(text) <= MAX_CHECKED:  # nothing else, no signal either, goes on meanwhile
            compile(text, name, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise _cannot(address, f"is not Python 3: {error}") from None
    with open(os.path.join(directory, name), "wb") as kept:
        kept.write(text)


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        error.close()
        return f"the server answered {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        inner = error.reason
        return str(inner.strerror or inner) if isinstance(inner, OSError) else str(inner)
    if isinstance(error, TimeoutError):
        return f"no answer for {ANSWER_TIMEOUT:g} s"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__


def too_slow(address: str) -> CannotRead:
    return _cannot(address, f"cannot be fetched: it takes more than {WHOLE_TIMEOUT:g} s")


def _cannot(address: str, problem: str) -> CannotRead:
    return CannotRead(f"{without_password(address)} {problem}")
