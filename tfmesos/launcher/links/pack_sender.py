"""Sends packs to the runners that ask for them, a piece at a time, straight from the file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import FrameError
from ...shared import wire
from .authentication import keep_no_copies

if TYPE_CHECKING:
    from ..ship.pack import Pack

PIECE = 64 * 1024  # bytes; all that is in memory for a runner at a time

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class PackSender:
    """A runner has *within* seconds to take each piece.

    *on_sent* gets the id of a task and how many bytes of its pack have been sent.
    """

    def __init__(
        self,
        packs: Mapping[str, Pack],
        within: float,
        spawn: Spawn,
        on_sent: Callable[[str, int], object],
    ) -> None:
        self._packs = packs
        self._within = within
        self._spawn = spawn
        self._on_sent = on_sent
        self._sending: dict[asyncio.StreamWriter, asyncio.Task[None]] = {}

    def answer(self, task_id: str, writer: asyncio.StreamWriter, question: wire.Message) -> None:
        """Send what is requested now, instead of what was requested before."""
        at, pack = wire.count(question, "at"), self._packs.get(wire.field(question, "pack", str))
        if pack is None:
            raise FrameError("it asks for files that do not exist")
        self.stop(writer)
        self._sending[writer] = self._spawn(self._send(task_id, writer, pack, at))

    def stop(self, writer: asyncio.StreamWriter) -> None:
        """Send nothing more there."""
        if sending := self._sending.pop(writer, None):
            sending.cancel()

    async def _send(self, task_id: str, writer: asyncio.StreamWriter, pack: Pack, at: int) -> None:
        keep_no_copies(writer)
        try:
            while data := pack.read(at, PIECE):
                writer.write(wire.encode_piece(data))
                at += len(data)
                self._on_sent(task_id, at)
                if writer.transport.get_write_buffer_size():
                    async with asyncio.timeout(self._within):
                        await writer.drain()
                await asyncio.sleep(0)  # even a fast reader lets the others have their turn
        except TimeoutError:
            writer.transport.abort()
        except OSError:
            pass  # whoever reads from this connection reports its end
