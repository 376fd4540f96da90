"""The last lines of a task whose runner could not report them."""

from __future__ import annotations

from collections.abc import Sequence

from ...node.process.tail import TAIL_LINES


def joined(brought: Sequence[str], left: Sequence[str]) -> tuple[str, ...]:
    """The lines that came over its link (*brought*), and those *left* on its node after that.

    Others, such as the launcher of Mesos, write there, too: only what follows a line that came over
    the link is the task's own.
    """
    if not brought:
        return tuple(left)
    known = {line for line in brought if line.strip()}
    common = [at for at, line in enumerate(left) if line in known]
    later = left[common[-1] + 1 :] if common else ()
    return (*brought, *later)[-TAIL_LINES:]
