"""What is asked of a runner inside its task, and what a runner answers about stacks."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from hypothesis import strategies as st

from tfmesos.errors import FrameError
from tfmesos.node.inside.channels import Channels
from tfmesos.node.inside.printed_stacks import threads
from tfmesos.node.inside.surroundings import Surroundings
from tfmesos.node.link.outbox import Outbox
from tfmesos.node.loop import Loop
from tfmesos.node.process.output import Output
from tfmesos.runs.inside.stacks import grouped, read_answers
from tfmesos.sanitize import plain
from tfmesos.shared import wire

from .strategies import JSON, nearly


class Settings:
    """As much of them as is looked at."""

    task = "run-worker-0-nobody"


class Guard:
    """It would be a process for each example."""

    def began(self, leader: int) -> None:
        """There is no such command."""

    ended = began


# What is to be executed and where a copy goes is the launcher's to say: nobody makes that up.
_FIXED = {"exec": {"argv": [""]}, "copy_in": {"path": "made"}, "copy_out": {"path": "there"}}
_ASKED = [
    {"do": "exec", "argv": [], "rows": 3, "columns": 4, "term": "xterm"},
    {"do": "forward", "port": 1},
    {"do": "copy_out", "path": "there", "raw": True},
    {"do": "copy_in", "path": "made", "name": "data", "raw": False},
    {"do": "stacks", "native": False, "has_tool": True},
    {"do": "stay"},
]
_MESSAGES = [
    {"type": "data", "channel": 1, "stream": 0, "data": b'{"path": ""}\n'},
    {"type": "credit", "channel": 1, "bytes": 500_000},
    {"type": "eof", "channel": 1},
    {"type": "resize", "channel": 1, "rows": 3, "columns": 4},
    {"type": "close", "channel": 1},
]
REQUESTS = st.tuples(nearly(_ASKED), st.lists(st.sampled_from(_MESSAGES), max_size=5))


def check_requests(given: tuple[Any, list[Any]]) -> None:
    """Nothing but a FrameError; when whoever asked has left, nothing is half made."""
    request, messages = given
    if isinstance(request, dict) and isinstance(request.get("do"), str):
        request = {**request, **_FIXED.get(request["do"], {})}
    with tempfile.TemporaryDirectory() as place, Loop() as loop:
        with open(os.path.join(place, "there"), "wb") as file:
            file.write(bytes(100_000))
        around = Surroundings(
            loop,
            Settings(),
            Guard,
            {},
            place,
            "",
            Output(Outbox()),  # type: ignore[arg-type]
        )
        channels, files = Channels(), os.listdir("/proc/self/fd")
        try:
            channels.receive({"type": "open", "channel": 1, "request": request}, around)
            for message in messages:
                channels.receive(message, around)
        except FrameError:
            pass
        _check_answers(channels)
        channels.lost()
        assert set(os.listdir(place)) <= {"there", "made"}
        assert len(os.listdir("/proc/self/fd")) == len(files)


def _check_answers(channels: Channels) -> None:
    decoder = wire.FrameDecoder(wire.MAX_FRAME)
    while frame := channels.next():
        (answer,) = decoder.feed(frame)
        assert answer["type"] in ("done", "credit", "data", "eof")
        assert "internal error" not in answer.get("problem", ""), answer


_FRAME = ["all_reduce", "train.py", 7, True]
_THREAD = {"name": "", "is_main": True, "frames": [_FRAME]}
_ANSWERS = [
    [{"pid": 1, "command": "python", "threads": [_THREAD, {**_THREAD, "is_main": False}]}],
    [{"pid": 1, "command": "python", "problem": "why", "state": "S (sleeping)", "waits": "pipe"}],
    [{"pid": 1, "command": "python", "threads": []}],
]
ANSWERS = st.one_of(
    st.binary(max_size=50),
    st.integers(1, 100_000).map(lambda depth: b"[" * depth + b"\n"),
    (nearly(_ANSWERS) | st.lists(JSON, max_size=3)).map(
        lambda found: b"".join(
            json.dumps(one).encode() + b"\n"
            for one in (found if isinstance(found, list) else [found])
        )
    ),
)


def check_answers(data: bytes) -> None:
    """Whatever a runner sends can be shown and printed as JSON, and moves no cursor."""
    answers = read_answers("worker:0", data)
    assert answers and json.loads(json.dumps(answers)) == answers
    assert all(plain(line) == line for line in grouped(answers, {"worker": 2}))


PRINTED = st.lists(
    st.one_of(
        st.text(max_size=20),
        st.sampled_from(
            [
                "Current thread 0x1 (most recent call first):",
                "Thread 0x2 [a] (most recent call first):",
                '  File "/x/train.py", line 7 in step',
                '  File "", line ??? in ???',
            ]
        ),
    ),
    max_size=8,
).map("\n".join)


def check_printed(text: str) -> None:
    """Every frame has a name, a file and a line, whatever was printed."""
    for thread in threads(text):
        assert all(frame["name"] is not None and frame["line"] >= 0 for frame in thread["frames"])
