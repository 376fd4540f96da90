"""Runs the user's command that checks whether this node is fit for the task."""

from __future__ import annotations

from ...errors import NODE_UNFIT
from ...shared import process
from ..process.child import Child
from ..process.line_splitter import LineSplitter
from ..process.tail import Tail
from .workspace import TASK_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...shared.process import Ending
    from ..loop import Loop
    from ..process.guard import Guard

CHECK_TIME = 300.0  # seconds
LONGEST_LAST = 200  # characters of its last line


def check(
    loop: Loop,
    guard: Guard,
    command: str,
    env: Mapping[str, str],
    is_stopping: Callable[[], bool],
) -> Ending | None:
    """None if the node is fit, or if we are stopped; else what is wrong, with its last line."""
    splitters = {"stdout": LineSplitter(), "stderr": LineSplitter()}
    tail = Tail()

    def read(stream: str, data: bytes) -> None:
        splitter = splitters[stream]
        tail.add(splitter.feed(data) if data else splitter.close())

    try:
        child = Child(loop, guard, ["/bin/sh", "-c", command], env, env[TASK_DIR], read)
    except (OSError, ValueError) as error:
        return NODE_UNFIT, f"could not check its node: {process.in_words(error)}"
    late: list[bool] = []
    timer = loop.after(CHECK_TIME, lambda: late.append(True))
    loop.run_until(lambda: child.ended or late or is_stopping())
    timer.cancel()
    child.kill()
    loop.run_until(lambda: child.ended)
    if is_stopping():
        return None
    _, reason = process.ending(child.returncode)
    if late:
        reason = f"took longer than {CHECK_TIME:g} s"
    elif child.returncode == 0:
        return None
    last = "".join(f": {line[:LONGEST_LAST]!r}" for line in tail.lines()[-1:])
    return NODE_UNFIT, f"was not started; the check of its node {reason}{last}"
