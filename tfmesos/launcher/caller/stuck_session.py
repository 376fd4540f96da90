"""Detects that the main thread waits in a TensorFlow session for a server that may be dead.

Nothing ends such a call from outside, but its frames show what it waits for.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection
from types import FrameType

from ...record import Record

_SESSIONS = "tensorflow.python.client.session"


class Call(Record):
    place: str  # in the program
    frame: int  # which call at this place it is
    instruction: int
    is_deaf: bool  # to signals, for it is in TensorFlow itself


class StuckSession:
    """In the sessions of certain *targets*. The clock is the caller's."""

    def __init__(self, targets: Collection[str]) -> None:
        self._targets = {target.encode() for target in targets}
        self._call: Call | None = None
        self._since = 0.0

    def look(self, now: float) -> tuple[str, float]:
        """Where the session was called, empty if there is none, and for how long it is stuck."""
        call = self._find()
        if call is None or call != self._call or not call.is_deaf:
            self._call = call
            self._since = now
        return (call.place if call else ""), now - self._since

    def _find(self) -> Call | None:
        frame = top = sys._current_frames().get(threading.main_thread().ident or 0)
        while frame is not None and not self._is_of_a_session(frame):
            frame = frame.f_back
        while frame is not None and _is_of_tensorflow(frame):
            frame = frame.f_back
        if top is None or frame is None:
            return None
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        return Call(place, id(top), top.f_lasti, _is_of_tensorflow(top))

    def _is_of_a_session(self, frame: FrameType) -> bool:
        if _module(frame) != _SESSIONS:
            return False
        return getattr(frame.f_locals.get("self"), "sess_str", None) in self._targets


def _is_of_tensorflow(frame: FrameType) -> bool:
    return _module(frame).startswith("tensorflow.")


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))
