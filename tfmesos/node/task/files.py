"""The files that a task receives over the link before it registers, removed when it ends."""

from __future__ import annotations

import errno
import os

from ...errors import CANNOT_UNPACK, NODE_REFUSED, FrameError
from ...shared import wire
from .workspace import SHIP_DIR, TASK_DIR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.process import Ending
    from ...shared.wire import Message
    from ..link.connection import Link
    from ..loop import Loop
    from ..runner_settings import Settings
    from .unpack import Unpacker

SHIP = "ship"  # the pack of --ship, and the name of its directory in the workspace


class Files:
    """Asks the launcher for each pack that the settings describe, and unpacks it as it comes."""

    def __init__(self, loop: Loop, link: Link, settings: Settings) -> None:
        self._loop = loop
        self._link = link
        self._settings = settings
        self._unpacking: Unpacker | None = None
        self._unpacked: list[Unpacker] = []
        self._failure: Ending | None = None

    def fetch(self, is_stopped: Callable[[], bool]) -> Ending | None:
        """Receive everything that is sent to this task; returns why not, if that fails."""
        if SHIP in self._settings.packs:
            place = os.path.join(self._settings.env[TASK_DIR], SHIP)
            self._settings.env = {**self._settings.env, SHIP_DIR: place}
            return self._fetch(SHIP, place, is_stopped)
        return None

    def _fetch(self, name: str, directory: str, is_stopped: Callable[[], bool]) -> Ending | None:
        from .unpack import Unpacker  # most tasks are sent none

        try:
            unpacking = Unpacker(directory, self._settings.packs[name], go_on=self._link.keep_alive)
        except (OSError, FrameError) as error:
            return _failure(error)
        self._unpacking = unpacking
        self._link.ask(lambda: {"type": "fetch", "pack": name, "at": unpacking.received})
        self._loop.run_until(lambda: unpacking.is_whole or self._failure or is_stopped())
        self._link.ask(None)
        self._unpacking = None
        if unpacking.is_whole:
            self._unpacked.append(unpacking)
        else:
            unpacking.remove_all()
        return self._failure

    def receive(self, piece: Message) -> None:
        """More may be on its way after the last one that we received."""
        if self._unpacking is None or self._failure:
            return
        try:
            self._unpacking.feed(wire.field(piece, "data", bytes))
        except (OSError, FrameError) as error:
            self._failure = _failure(error)

    def remove(self) -> None:
        """Remove what was unpacked, but not what the command made of it."""
        while self._unpacked:
            self._unpacked.pop().remove()


def _failure(error: Exception) -> Ending:
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    code = NODE_REFUSED if is_full else CANNOT_UNPACK  # another node may have room
    why = error.strerror if isinstance(error, OSError) else error
    return code, f"could not unpack the files that were sent to it: {why}"
