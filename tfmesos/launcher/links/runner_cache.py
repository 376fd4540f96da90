"""The packed runner, kept in a file of the user for the next launcher.

It is code that we send, so it is read only if nobody else can have written it. If anything goes
wrong here, the runner is just packed again.
"""

from __future__ import annotations

import marshal
import os
import stat
import sys
from collections.abc import Mapping
from importlib.util import MAGIC_NUMBER
from typing import Any

from ...private_directory import make_private
from ...shared.stdlib import sha256

DIGEST = 32  # bytes, with which the file begins
OTHERS_WRITE = 0o022  # the modes


def file(caches: str) -> str:
    """One file for each Python, in the user's cache directory as XDG defines it; else empty."""
    if not os.path.isabs(caches):
        caches = os.path.expanduser("~/.cache")
    has_place = os.path.isabs(caches)  # in a container many users have no directory of their own
    return f"{caches}/tfmesos/runner-{MAGIC_NUMBER.hex()}" if has_place else ""


def state(package: str, version: str) -> str:
    """A text that changes whenever what is packed, or how, may have changed."""
    try:
        files = [*_modules(f"{package}/shared"), *_modules(f"{package}/node")]
        files += [f"{package}/errors.py", f"{package}/launcher/links/payload_builder.py"]
        seen = [(file, os.stat(file)) for file in files]
    except OSError:
        return ""  # not installed as files: nothing is kept
    lines = [f"{file} {found.st_size} {found.st_mtime_ns}" for file, found in seen]
    given = [version, str(sys.flags.optimize), *lines]
    return sha256(os.fsencode("\n".join(given))).hexdigest()


def _modules(folder: str) -> list[str]:
    """In its folders, too. Raises OSError if it cannot be read."""

    def fail(error: OSError) -> None:
        raise error

    walk = os.walk(folder, onerror=fail)
    return sorted(
        f"{path}/{name}" for path, _, names in walk for name in names if name.endswith(".py")
    )


def read(file: str, state: str) -> Any:
    """What was written for *state*; None if there is nothing."""
    try:
        with open(file, "rb", opener=_open_plain) as opened:
            content = opened.read() if _is_ours(os.fstat(opened.fileno())) else b""
    except OSError:
        return None
    digest, packed = content[:DIGEST], content[DIGEST:]
    return marshal.loads(packed) if digest == _digest(state, packed) else None


def _open_plain(file: str, flags: int) -> int:
    """Neither follows a link nor waits, for example for the writer of a pipe."""
    return os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _is_ours(found: os.stat_result) -> bool:
    is_file = stat.S_ISREG(found.st_mode)
    return is_file and found.st_uid == os.geteuid() and not found.st_mode & OTHERS_WRITE


def write(file: str, state: str, packed: Mapping[str, Any]) -> None:
    """Write it if there is room for it."""
    content = marshal.dumps(dict(packed))
    new = f"{file}.{os.getpid()}"
    try:
        make_private(os.path.dirname(file))
        made = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError:
        return
    try:
        with open(made, "wb") as opened:
            opened.write(_digest(state, content) + content)
        os.replace(new, file)
    except OSError:
        os.unlink(new)


def _digest(state: str, content: bytes) -> bytes:
    return sha256(state.encode() + content).digest()
