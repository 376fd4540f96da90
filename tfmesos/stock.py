"""The payload of the last run, kept where Python keeps its compiled modules.

Making it takes as long as starting two runners. What lies there is trusted as far as Python
trusts it: whoever can write there can change our code itself.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import sys
from contextlib import suppress

from . import payload


@functools.cache
def stocked_payload() -> str:
    """``payload.payload()``, made only if it is not there, or of other sources."""
    path = os.path.splitext(importlib.util.cache_from_source(payload.__file__))[0] + ".runner"
    key = payload.fingerprint()
    with suppress(OSError, ValueError):
        with open(path, encoding="ascii") as file:
            if file.readline() == f"{key}\n":
                return file.read()
    made = payload.payload()
    if not sys.dont_write_bytecode:
        with suppress(OSError):
            _keep(path, f"{key}\n{made}")
    return made


def _keep(path: str, text: str) -> None:
    """All or nothing, for others may be reading."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    draft = f"{path}.{os.getpid()}"
    try:
        with open(draft, "x", encoding="ascii") as file:
            file.write(text)
        os.replace(draft, path)
    except OSError:
        with suppress(OSError):
            os.unlink(draft)
        raise
