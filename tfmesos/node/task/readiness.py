"""When the command of a task is ready: at once, but TensorBoard once it listens on its port."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ..link.outbox import Outbox
    from ..loop import Loop
    from ..process.child import Child
    from ..runner_settings import Settings

LOOK_EVERY = 0.25  # seconds


def tell_ready(loop: Loop, settings: Settings, port: int, child: Child, outbox: Outbox) -> None:
    def tell() -> None:
        outbox.add({"type": "ready"})

    if settings.is_ready_when_it_listens:
        when_listening(loop, port, lambda: child.ended, tell)
    else:
        tell()


def when_listening(
    loop: Loop, port: int, is_over: Callable[[], bool], tell: Callable[[], object]
) -> None:
    """Call *tell* once somebody listens at *port*, unless it *is over* before.

    Nothing connects to find out, so the address does not matter.
    """
    from .port_holder import listening_sockets  # most tasks are not waited for

    if is_over():
        return
    if any(listening_sockets(port)) or not os.path.exists("/proc/net/tcp"):
        tell()
    else:
        loop.after(LOOK_EVERY, lambda: when_listening(loop, port, is_over, tell))
