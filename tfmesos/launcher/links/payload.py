"""The runner as it travels: a stub in the command of the task, all the rest over the link.

``packing`` makes it, which takes as long as a short task. So it is kept in the user's cache
directory for the next launcher, as Python keeps what it has compiled.
"""

from __future__ import annotations

import functools
import marshal
import os
import shlex
import sys
from typing import TYPE_CHECKING, TypedDict

from ... import __path__ as home
from ...node.stdlib import sha256

if TYPE_CHECKING:
    from importlib.util import MAGIC_NUMBER
else:  # what importlib is made of; its own import is not cheap
    from _frozen_importlib_external import MAGIC_NUMBER

DIGEST = 32  # bytes, with which the file begins
OTHERS_WRITE = 0o022  # the modes


class Packed(TypedDict):
    stub: str
    listening_stub: str  # the same for a launcher that dials
    program: str  # what Python is given to become the stub
    runners: dict[str, bytes]  # by the magic number of the Python that they are for; "": any


def stub() -> str:
    return _packed()["stub"]


def listening_stub() -> str:
    return _packed()["listening_stub"]


def runners() -> dict[str, bytes]:
    """What a stub is sent, by the Python that it says it is; "" is for all others."""
    return _packed()["runners"]


def command(python: str) -> str:
    """The shell command that becomes the runner.

    Isolated (-I) and without site-packages (-S): nothing on the node can get in its way.
    """
    return f'exec {shlex.quote(python)} -I -S -c "{_packed()["program"]}"'


@functools.cache
def _packed() -> Packed:
    file, now = cache_file(os.environ.get("XDG_CACHE_HOME", "")), state(home[0])
    packed = read(file, now)
    if packed is None:
        from .packing import pack

        packed = pack()
        if now and not sys.dont_write_bytecode:
            write(file, now, packed)
    return packed


def cache_file(caches: str) -> str:
    """One for each Python, in the user's directory of *caches*, as XDG names it; else empty."""
    if not os.path.isabs(caches):
        caches = os.path.expanduser("~/.cache")
    has_place = os.path.isabs(caches)  # in a container many users have no directory of their own
    return f"{caches}/tfmesos/runner-{MAGIC_NUMBER.hex()}" if has_place else ""


def state(package: str) -> str:
    """Another text whenever what is packed, or how, may have changed."""
    folder = f"{package}/node"
    try:
        files = [f"{folder}/{name}" for name in sorted(os.listdir(folder)) if name.endswith(".py")]
        files += [f"{package}/errors.py", f"{package}/launcher/links/packing.py"]
        seen = [(file, os.stat(file)) for file in files]
    except OSError:
        return ""  # not installed as files: nothing is kept
    lines = [f"{file} {found.st_size} {found.st_mtime_ns}" for file, found in seen]
    return sha256("\n".join(lines).encode()).hexdigest()


def read(file: str, state: str) -> Packed | None:
    """What was written for *state*: it is code that we send, so nobody else may have written it."""
    try:
        with open(file, "rb") as opened:
            found = os.fstat(opened.fileno())
            is_ours = found.st_uid == os.geteuid() and not found.st_mode & OTHERS_WRITE
            digest, content = opened.read(DIGEST), opened.read() if is_ours else b""
    except OSError:
        return None
    packed: Packed | None = marshal.loads(content) if digest == _digest(state, content) else None
    return packed


def write(file: str, state: str, packed: Packed) -> None:
    """As far as there is room for it; the next launcher can do without."""
    try:
        os.makedirs(os.path.dirname(file), mode=0o700, exist_ok=True)
        new = f"{file}.{os.getpid()}"
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as opened:
            content = marshal.dumps(dict(packed))
            opened.write(_digest(state, content) + content)
        os.replace(new, file)
    except OSError:
        pass


def _digest(state: str, content: bytes) -> bytes:
    return sha256(state.encode() + content).digest()
