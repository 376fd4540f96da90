"""What the checks of nodes said: often the same for all tasks and restarts, so it is shown once."""

from __future__ import annotations

from ..errors import NODE_UNFIT

AGAIN = "was not started, for the same reason"


class CheckReasons:
    """*said*: those that are shown already."""

    def __init__(self, *said: str) -> None:
        self._said = set(said)

    def shown(self, code: int, reason: str) -> str:
        """The *reason* of an end, or that it is one which was shown before."""
        if code != NODE_UNFIT:
            return reason
        is_known = reason in self._said
        self._said.add(reason)
        return AGAIN if is_known else reason
