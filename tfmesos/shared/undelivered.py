"""Messages that a runner could not deliver, left in its sandbox for the launcher to fetch.

The file has one JSON object in each line. The first says how many messages the launcher had
acknowledged and how many follow; the others are those messages.
"""

from __future__ import annotations

import os

from . import stdlib, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FILE = "tfmesos-undelivered"


def leave(acked: int, frames: Sequence[bytes], complain: Callable[[str], object]) -> None:
    """Write the file into the sandbox, if there is anything to write."""
    try:
        if frames:
            directory = os.environ.get("MESOS_SANDBOX") or "."
            with open(os.path.join(directory, FILE), "wb") as file:
                file.write(pack(acked, frames))
    except OSError as error:
        complain(f"anything that the launcher had not received is lost: {error}")


def pack(acked: int, frames: Sequence[bytes]) -> bytes:
    """The file for *frames*, which come after the first *acked* ones."""
    head = {"type": "undelivered", "acked": acked, "messages": len(frames)}
    lines = [head, *(_message(frame) for frame in frames)]
    return "".join([stdlib.dumps(line) + "\n" for line in lines]).encode("ascii")


def _message(frame: bytes) -> wire.Message:
    """A part of a file is counted, and not kept: it is where it came from."""
    message = wire.decode(frame[4:])
    return {"type": "part"} if message["type"] == "part" else message
