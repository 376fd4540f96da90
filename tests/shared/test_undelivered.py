"""The file of messages that a runner leaves when its launcher does not take them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.launcher.missing_output import unpack
from tfmesos.node.link.outbox import Outbox
from tfmesos.shared import undelivered, wire

EXIT = {"type": "exit", "code": 0, "reason": "exited with 0", "tail": []}
STEPS = ["line", "send", "receive", "ack", "break"]


class Launcher:
    """Counts what arrives; what was sent and not received is lost when the link breaks."""

    def __init__(self) -> None:
        self.received = 0
        self.lines: list[str] = []
        self.dropped = 0
        self._on_the_way: list[bytes] = []

    def send(self, frame: bytes | None) -> None:
        self._on_the_way += [frame] if frame is not None else []

    def receive(self) -> None:
        if self._on_the_way:
            self.received += 1
            self.show(wire.decode(self._on_the_way.pop(0)[4:]))

    def break_off(self) -> None:
        self._on_the_way = []

    def show(self, message: wire.Message) -> None:
        if message["type"] == "output":
            self.lines += message["text"].splitlines()
            self.dropped += message["dropped"]


@given(st.lists(st.sampled_from(STEPS), max_size=60), st.integers(200, 2000), st.booleans())
def test_whenever_a_runner_gives_up_every_line_is_shown_or_counted_once(steps, limit, drops):
    outbox, launcher, made = Outbox(limit, drops), Launcher(), 0
    for step in steps:
        if step == "line":
            made += 1
            outbox.add_text("stdout", f"{made}\n")
        elif step == "send":
            launcher.send(outbox.next())
        elif step == "receive":
            launcher.receive()
        elif step == "ack":
            outbox.acknowledge(launcher.received)
        else:
            launcher.break_off()
            outbox.rewind(launcher.received)
    outbox.add(EXIT)
    text = undelivered.pack(outbox.acked, outbox.undelivered()).decode("ascii")
    messages, is_all = unpack(text, launcher.received)
    for message in messages:
        launcher.show(message)
    assert is_all
    assert len(launcher.lines) + launcher.dropped == made
    assert launcher.lines == sorted(set(launcher.lines), key=int)
    assert drops or launcher.dropped == 0


def packed(*texts, acked=0):
    outbox = Outbox()
    for text in texts:
        outbox.add_text("stdout", text)
        outbox.add({"type": "ready"})
    outbox.add(EXIT)
    return undelivered.pack(acked, outbox.undelivered()).decode("ascii")


@given(st.integers(0, 400))
def test_half_a_file_is_never_taken_for_a_whole_one(size):
    text = packed("a\n", "b\n")
    cut = text[:size]
    assert unpack(cut, 0)[1] == (len(cut.rstrip("\n")) == len(text) - 1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON\n",
        json.dumps({"type": "undelivered", "acked": 5, "messages": 1}) + "\n" + json.dumps(EXIT),
        json.dumps({"type": "undelivered", "acked": -1, "messages": 1}) + "\n" + json.dumps(EXIT),
        json.dumps({"type": "undelivered", "acked": 0, "messages": 2})
        + '\n{"type": "output", "stream": 7, "text": "", "dropped": 0}\n'
        + json.dumps(EXIT),
        "[" * 100_000,
    ],
)
def test_a_file_of_somebody_else_is_nothing(text):
    assert unpack(text, 0) == ([], False)
