"""The channels into this task: each serves one request of the owner of the run."""

from __future__ import annotations

from ...errors import FrameError
from ...shared import process, stdlib, wire
from ...shared.channel import LARGEST, Channel
from ..link.connection import Beside
from .work import CannotBegin, Opened, Work

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable

    from ...shared.wire import Message
    from .surroundings import Surroundings

    Begin = Callable[[Opened], Work]

MOST = 64  # at a time
NOT_RUNNING = "it is not running"


class Channels(Beside):
    """They end with the connection, at whose other end their owner is."""

    def __init__(self) -> None:
        self._frames: deque[bytes] = stdlib.deque()
        self._works: dict[int, Work] = {}

    def next(self) -> bytes | None:
        return self._frames.popleft() if self._frames else None

    def lost(self) -> None:
        for number in list(self._works):
            self._leave(number)
        self._frames.clear()

    def _leave(self, number: int) -> None:
        work = self._works.pop(number)
        work.channel.mute()
        work.leave()

    def cut(self) -> None:
        """The task has ended."""
        for work in list(self._works.values()):
            work.cut()

    def receive(self, message: Message, surroundings: Surroundings | None) -> None:
        """*surroundings* are those of the task, if it is running."""
        kind, number = message["type"], wire.count(message, "channel")
        if kind == "open":
            return self._begin(number, wire.field(message, "request", dict), surroundings)
        work = self._works.get(number)
        if work is None:
            return  # it is over, which the other side does not know yet
        try:
            self._pass_on(work, kind, number, message)
        except FrameError:
            raise
        except Exception as error:
            work.crash(error)

    def _pass_on(self, work: Work, kind: str, number: int, message: Message) -> None:
        if kind == "data":
            work.take(work.channel.arrived(message))
        elif kind == "credit":
            work.channel.credited(message)
            work.has_room()
        elif kind == "eof":
            work.end_of_input()
        elif kind == "resize":
            work.resize(_side(message, "rows"), _side(message, "columns"))
        elif kind == "close":
            self._leave(number)

    def _begin(self, number: int, request: Message, surroundings: Surroundings | None) -> None:
        if number in self._works or number > LARGEST:
            raise FrameError("a channel that cannot be opened")
        channel = Channel(number, self._frames.append)
        nothing = Work(channel, lambda: None)
        if surroundings is None:
            return nothing.done(1, NOT_RUNNING)
        if len(self._works) >= MOST:
            return nothing.done(1, f"it already has {MOST} connections inside it, the maximum")
        kind = _KINDS.get(wire.field(request, "do", str))
        if kind is None:
            raise FrameError("a channel for an unknown purpose")
        try:
            opened = Opened(channel, lambda: self._over(number), surroundings, request)
            work = kind()(opened)
        except CannotBegin as error:
            return nothing.done(error.code, str(error))
        except OSError as error:
            return nothing.done(1, process.in_words(error))
        if not work.is_over:
            self._works[number] = work

    def _over(self, number: int) -> None:
        self._works.pop(number, None)


def _side(message: Message, name: str) -> int:
    return min(wire.count(message, name), 0xFFFF)


def _command() -> Begin:
    from .command import Command

    return Command


def _connection() -> Begin:
    from .port_connection import Connection

    return Connection


def _copy_out() -> Begin:
    from .copies import CopyOut

    return CopyOut


def _copy_in() -> Begin:
    from .copies import CopyIn

    return CopyIn


def _stacks() -> Begin:
    from .python_stacks import Stacks

    return Stacks


def _stay() -> Begin:
    """Does nothing but end with its task."""
    return lambda opened: Work(opened.channel, opened.over)


# What may be asked for, each imported when it is.
_KINDS: dict[str, Callable[[], Begin]] = {
    "exec": _command,
    "forward": _connection,
    "copy_out": _copy_out,
    "copy_in": _copy_in,
    "stacks": _stacks,
    "stay": _stay,
}
