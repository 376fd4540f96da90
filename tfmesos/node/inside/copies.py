"""Files that the owner copies out of a running task, or into it."""

from __future__ import annotations

import os

from ...shared import copy_stream, wire
from ..process.remover import Remover
from .work import CannotBegin, Work, careful

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ...shared.wire import Message
    from .surroundings import Surroundings
    from .work import Opened

FAILED = 1  # exit code
AT_ONCE = 8  # pieces before others have their turn


class CopyOut(Work):
    """Sends what is at a path, or the content of the file there."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened.channel, opened.over)
        surroundings = opened.surroundings
        request = opened.request
        self._loop = surroundings.loop
        path = _path(surroundings, request)
        if request.get("raw") is True and os.path.isdir(path):
            raise CannotBegin(FAILED, f"{path} is a directory")
        self._pieces = (
            copy_stream.content(path) if request.get("raw") is True else copy_stream.sent(path)
        )
        self._rest = b""
        self._is_waiting = False

    def has_room(self) -> None:
        if self._is_waiting or self.is_over:
            return
        try:
            for _ in range(AT_ONCE):
                if self.channel.room <= 0:
                    return
                data = self._rest or next(self._pieces, b"")
                if not data:
                    return self.done()
                self._rest = data[self.channel.room :]
                self.channel.write(data[: self.channel.room])
        except (OSError, copy_stream.CannotCopy) as error:
            return self.done(FAILED, copy_stream.in_words(error))
        self._is_waiting = True
        self._loop.after(0, self._go_on)

    @careful
    def _go_on(self) -> None:
        self._is_waiting = False
        self.has_room()

    def leave(self) -> None:
        self._pieces = iter(())
        self._rest = b""


class CopyIn(Work):
    """Creates what arrives at a path: all of it, or nothing."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened.channel, opened.over)
        surroundings = opened.surroundings
        request = opened.request
        name = wire.field(request, "name", str)
        if not copy_stream.is_inside(name) or "/" in name:
            raise CannotBegin(2, "a copy needs a name")
        place = copy_stream.destination(_path(surroundings, request), name)
        self._remover: Remover | None = None
        try:
            self._received = copy_stream.Received(
                place,
                lines=request.get("raw") is not True,
                warn_guard=self._watch_over,
            )
        except (OSError, copy_stream.CannotCopy) as error:
            self._stop_watching()
            raise CannotBegin(FAILED, copy_stream.in_words(error)) from None

    def _watch_over(self, coming: str) -> None:
        self._remover = Remover(coming)

    def _stop_watching(self) -> None:
        if self._remover is not None:
            self._remover.close()
            self._remover = None

    def take(self, data: bytes) -> None:
        if not self.is_over:
            self._try(lambda: self._received.feed(data))
        self.channel.took(len(data))

    def end_of_input(self) -> None:
        if not self.is_over and self._try(self._received.finish):
            self._stop_watching()
            self.done()

    def _try(self, work: Callable[[], None]) -> bool:
        try:
            work()
        except (OSError, copy_stream.CannotCopy) as error:
            self._received.abandon()
            self._stop_watching()
            self.done(FAILED, copy_stream.in_words(error))
            return False
        return True

    def leave(self) -> None:
        if not self.is_over:
            self._received.abandon()
            self._stop_watching()


def _path(surroundings: Surroundings, request: Message) -> str:
    return os.path.join(surroundings.cwd, wire.field(request, "path", str))
