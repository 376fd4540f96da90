"""What nvidia-smi reports about the GPUs that a task sees.

It runs as long as the command and writes every few seconds: starting it each time would take longer
than measuring.
"""

from __future__ import annotations

import os
import time

from ...shared import process
from ..loop import READ, Loop
from .spawn import spawn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .guard import Guard
    from .spawn import Spawned

    Gpu = tuple[int | None, int | None, int | None]

INTERVAL = 5  # seconds
FORGOTTEN_AFTER = 3 * INTERVAL  # it may be late, or hang
QUERY = "index,uuid,utilization.gpu,memory.used,memory.total"
COMMAND = [
    *("nvidia-smi", f"--query-gpu={QUERY}", "--format=csv,noheader,nounits", f"--loop={INTERVAL}"),
]
READ_SIZE = 64 * 1024  # bytes
MIB = 1024 * 1024
MOST = 64  # GPUs; no node has more


def parse(line: str) -> tuple[tuple[str, str], Gpu] | None:
    """Index and UUID of a GPU; its use in percent, bytes in use and total bytes, where known."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != 5 or _number(cells[0]) is None:
        return None
    busy, used, total = map(_number, cells[2:])
    return (cells[0], cells[1]), (busy, _bytes(used), _bytes(total))


def _number(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() and len(cell) <= 12 else None


def _bytes(mebibytes: int | None) -> int | None:
    return None if mebibytes is None else mebibytes * MIB


def is_visible(names: tuple[str, str], visible: str | None) -> bool:
    """Whether CUDA_VISIBLE_DEVICES shows this GPU; a UUID may be given by its first letters."""
    if visible is None:
        return True
    index, uuid = names
    wanted = [name.strip() for name in visible.split(",")]
    return any(name == index or (len(name) > 4 and uuid.startswith(name)) for name in wanted)


class Gpus:
    """Without nvidia-smi there are none."""

    def __init__(self, loop: Loop, visible: str | None, guard: Guard) -> None:
        """*visible* is the CUDA_VISIBLE_DEVICES of the task."""
        self._loop = loop
        self._visible = visible
        self._guard = guard
        self._latest: dict[str, Gpu] = {}  # by index
        self._told_at = 0.0
        self._rest = b""
        self._process: Spawned | None = None
        self._pipe = -1
        try:
            self._start()
        except (OSError, ValueError):
            pass

    def _start(self) -> None:
        self._pipe, end = os.pipe()
        nothing = os.open(os.devnull, os.O_RDWR)
        try:
            self._process = spawn(COMMAND, os.environ, "/", (nothing, end, nothing), self._guard)
            self._loop.watch(self._pipe, READ, self._read)
        except (OSError, ValueError):
            os.close(self._pipe)
            raise
        finally:
            os.close(nothing)
            os.close(end)

    def take(self) -> list[Gpu]:
        """The latest values of each GPU, as long as nvidia-smi keeps reporting."""
        if time.monotonic() > self._told_at + FORGOTTEN_AFTER:
            return []
        return [self._latest[index] for index in sorted(self._latest, key=int)][:MOST]

    def _read(self) -> None:
        data = os.read(self._pipe, READ_SIZE)
        if not data:
            return self.close()
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._rest = self._rest[-READ_SIZE:]
        for line in lines:
            found = parse(line.decode("utf-8", "replace"))
            if found is not None and is_visible(found[0], self._visible):
                self._latest[found[0][0]] = found[1]
                self._told_at = time.monotonic()

    def close(self) -> None:
        if self._process is not None:
            self._loop.unwatch(self._pipe)
            os.close(self._pipe)
            process.kill_session(self._process.pid)
            self._guard.ended(self._process.pid)
            self._process.wait()
            self._process = None
