"""What launchers and runners may say about channels, right, wrong and nearly right."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tfmesos.errors import FrameError
from tfmesos.launcher.links import channel_relay as of_launcher
from tfmesos.node.inside.channels import Channels
from tfmesos.node.inside.work import Work
from tfmesos.shared import wire
from tfmesos.shared.channel import Channel

from .strategies import nearly

TO_RUNNER = [
    {"type": "open", "channel": 1, "request": {"do": "exec", "argv": ["true"], "rows": 1}},
    {"type": "data", "channel": 1, "stream": 0, "data": b"x"},
    {"type": "credit", "channel": 1, "bytes": 5},
    {"type": "eof", "channel": 1},
    {"type": "resize", "channel": 1, "rows": 3, "columns": 4},
    {"type": "close", "channel": 1},
]
TO_LAUNCHER = [
    {"type": "data", "channel": 1, "stream": 0, "data": b"x"},
    {"type": "credit", "channel": 1, "bytes": 5},
    {"type": "eof", "channel": 1},
    {"type": "done", "channel": 1, "code": 1, "problem": "why"},
]
SAID = st.lists(nearly(TO_RUNNER), max_size=6)
REPORTED = st.lists(nearly(TO_LAUNCHER), max_size=6)


def passes(message: Any) -> bool:
    """Could the wire have made it? Of what is binary it makes whole messages only."""
    kind = message.get("type") if isinstance(message, dict) else None
    if not isinstance(kind, str) or kind not in wire.OF_CHANNELS:
        return False
    if not isinstance(message.get("data"), bytes):
        return True
    whole = (message.get("channel"), message.get("stream"))
    return kind == "data" and all(type(one) is int and 0 <= one < 256 for one in whole)


def check_runner(messages: list[Any]) -> None:
    """Nothing but a FrameError, and nothing runs in a task that does not run."""
    channels = Channels()
    channels._works[1] = Work(Channel(1, channels._frames.append), lambda: None)
    for message in filter(passes, messages):
        try:
            channels.receive(message, None)
        except FrameError:
            return
    while frame := channels.next():
        (answer,) = wire.FrameDecoder(wire.MAX_FRAME).feed(frame)
        assert answer["type"] in ("done", "credit")


class Heard:
    """As much of a StreamWriter as is needed."""

    def __init__(self) -> None:
        self.size = 0

    def is_closing(self) -> bool:
        return False

    def write(self, frame: bytes) -> None:
        self.size += len(frame)


def check_launcher(messages: list[Any]) -> None:
    """Nothing but a FrameError; the owner gets no more than it gave credit for."""
    runner, owner = Heard(), Heard()
    channels = of_launcher.Channels()
    channel = of_launcher._Channel(1, runner, owner)  # type: ignore[arg-type]
    channel.allowed = 2
    channels._channels[1] = channel
    for message in filter(passes, messages):
        try:
            channels.take(runner, message)  # type: ignore[arg-type]
        except FrameError:
            return
    assert owner.size <= len(messages) * (of_launcher.LONGEST_PROBLEM * 12 + 200)


def check_owner(messages: list[Any]) -> None:
    """What an owner says reaches the runner under the number of its channel, or not at all."""
    channel = of_launcher._Channel(7, Heard(), Heard())  # type: ignore[arg-type]
    for message in filter(passes, messages):
        try:
            frame = of_launcher._to_runner(channel, message)
        except FrameError:
            return
        (passed,) = wire.FrameDecoder(wire.MAX_FRAME).feed(frame)
        assert passed["channel"] == 7 and passed["type"] != "open"
        assert channel.allowed <= of_launcher.MOST_CREDIT
