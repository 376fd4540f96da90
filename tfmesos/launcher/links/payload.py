"""The runner as it travels: a stub in the command of the task, the rest over the link.

``payload_builder`` builds it, which takes as long as a short task. So it is kept in the user's
cache directory for the next launcher, as Python keeps what it has compiled.
"""

from __future__ import annotations

import functools
import os
import shlex
import sys
from typing import TypedDict

from ... import __path__ as home
from ...version import __version__


class Packed(TypedDict):
    stub: str
    listening_stub: str  # the same for a launcher that dials
    program: str  # what Python is given to become the stub
    compiled_program: str  # longer; the Python of the launcher need not compile it
    runners: dict[str, bytes]  # by the magic number of the Python that they are for; "": any


def stub() -> str:
    return _packed()["stub"]


def listening_stub() -> str:
    return _packed()["listening_stub"]


def runners() -> dict[str, bytes]:
    """What a stub receives, by the Python that it reports; "" stands for all others."""
    return _packed()["runners"]


def command(python: str) -> str:
    """The shell command that becomes the runner.

    Isolated (-I) and without site-packages (-S): nothing on the node can get in its way.
    """
    return _shell_command(python, _packed()["program"])


def long_command(python: str, before: str) -> str:
    """The same if its length does not matter: it starts faster.

    Python runs the lines *before* first, which the shell must not take for its own.
    """
    assert not {*'"$`\\'} & {*before}
    return _shell_command(python, before + _packed()["compiled_program"])


def _shell_command(python: str, program: str) -> str:
    return f'exec {shlex.quote(python)} -I -S -c "{program}"'


@functools.cache
def _packed() -> Packed:
    from . import runner_cache  # runners that are forked need none of it

    file = runner_cache.file(os.environ.get("XDG_CACHE_HOME", ""))
    now = runner_cache.state(home[0], __version__)
    packed: Packed | None = runner_cache.read(file, now)
    if packed is None:
        from .payload_builder import pack

        packed = pack()
        if now and not sys.dont_write_bytecode:
            runner_cache.write(file, now, packed)
    return packed
