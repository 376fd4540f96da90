"""The runner from its settings to its exit code."""

from __future__ import annotations

import os
import sys

from ..errors import NODE_REFUSED, RUNNER_BROKEN
from .loop import Loop
from .process.output import complain
from .runner import Runner
from .runner_settings import read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..shared.stdlib import socket


def main(stub: Sequence[str], connection: socket.socket | None = None) -> int:
    """Returns the exit code of the task.

    *stub* holds the settings of its stub, *connection* its connection if it has reached the
    launcher.
    """
    try:
        with Loop() as loop:
            return Runner(loop, read_settings(stub, os.environ), connection).run()
    except OSError as error:  # files, processes or memory are short, which is not our bug
        sys.excepthook(*sys.exc_info())
        complain(f"the node refused what the runner needs: {error.strerror}")
        return NODE_REFUSED
    except Exception:
        sys.excepthook(*sys.exc_info())
        return RUNNER_BROKEN
