"""The work that is done over one channel."""

from __future__ import annotations

from ...shared.channel import TASK_ENDED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    W = TypeVar("W", bound="Work")

    from ...shared.channel import Channel
    from ...shared.wire import Message
    from .surroundings import Surroundings

BROKEN = 70  # EX_SOFTWARE


class CannotBegin(Exception):
    """The exit code for the caller, and the reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


class Opened:
    """A channel that was opened for a *request*; ``over`` is called when nothing is left to do."""

    def __init__(
        self,
        channel: Channel,
        over: Callable[[], None],
        surroundings: Surroundings,
        request: Message,
    ) -> None:
        self.channel = channel
        self.over = over
        self.surroundings = surroundings
        self.request = request


def careful(method: Callable[[W], None]) -> Callable[[W], None]:
    """Our own bugs end the request, not the training."""

    def call(self: W) -> None:
        try:
            method(self)
        except Exception as error:
            self.crash(error)

    return call


class Work:
    """This base class does nothing. Work that is complete calls ``done``."""

    def __init__(self, channel: Channel, over: Callable[[], None]) -> None:
        self.channel = channel
        self._over = over
        self.is_over = False

    def take(self, data: bytes) -> None:
        """Data arrived; tell the channel when it is used up."""
        self.channel.took(len(data))

    def end_of_input(self) -> None:
        """No more data will come."""

    def has_room(self) -> None:
        """More may be sent."""

    def resize(self, rows: int, columns: int) -> None:
        """The terminal of the caller has this size."""

    def leave(self) -> None:
        """The caller has left: end the work soon."""

    def cut(self) -> None:
        """The task has ended: end the work at once, and leave nothing behind."""
        self.leave()
        self.done(1, TASK_ENDED)

    def crash(self, error: Exception) -> None:
        try:
            self.leave()
        except Exception:
            pass  # one fault is enough
        self.done(BROKEN, f"internal error; please report it: {type(error).__name__}: {error}")

    def done(self, code: int = 0, problem: str = "") -> None:
        if self.is_over:
            return
        self.is_over = True
        text = problem.encode("utf-8", "backslashreplace").decode("utf-8")
        self.channel.tell("done", code=code, problem=text)
        self._over()
