"""The messages between the launcher and the warm parent of runners, encoded with marshal.

Both ends are the same Python. ``("fork", TASK, ENVIRONMENT)`` is answered by the fork,
``("forked", TASK, PID)``, or by the parent, ``("failed", TASK, ERRNO)``; ``("reap", PID)`` is
answered by ``("reaped", PID, STATUS)``.
"""

from __future__ import annotations

import marshal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_MESSAGE = 128 * 1024  # bytes
PLACEHOLDER = "-" * 1024  # in the environment of the parent, where a runner has its sandbox


def packed(*message: Any) -> bytes:
    return marshal.dumps(message)


def unpacked(message: bytes) -> tuple[Any, ...]:
    what: tuple[Any, ...] = marshal.loads(message)
    return what
