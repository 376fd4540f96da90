"""A channel: nobody sends more than the other side takes, or counts wrongly."""

from __future__ import annotations

import pytest

from tfmesos.errors import FrameError
from tfmesos.shared import wire
from tfmesos.shared.channel import PIECE, STDERR, WINDOW, Channel


def ends():
    """Two ends whose frames are for the tests to bring over."""
    to_right, to_left = [], []
    return Channel(3, to_right.append), to_right, Channel(3, to_left.append), to_left


def messages(frames):
    decoder = wire.FrameDecoder(wire.MAX_FRAME)
    found = list(decoder.feed(b"".join(frames)))
    frames.clear()
    return found


def test_each_side_grants_a_window_and_more_when_it_is_used_up():
    left, to_right, right, to_left = ends()
    (credit,) = messages(to_left)
    left.credited(credit)
    assert left.room == WINDOW
    messages(to_right)
    left.write(bytes(WINDOW), STDERR)
    assert left.room == 0
    data = messages(to_right)
    assert [len(one["data"]) for one in data] == [PIECE] * (WINDOW // PIECE)
    assert {(one["channel"], one["stream"]) for one in data} == {(3, STDERR)}
    for one in data:
        right.took(len(right.arrived(one)))
    for credit in messages(to_left):
        left.credited(credit)
    assert left.room == WINDOW


def test_data_without_credit_and_credit_without_end_are_refused():
    left, to_right, right, _ = ends()
    messages(to_right)
    left.write(bytes(WINDOW + 1))
    with pytest.raises(FrameError):
        for one in messages(to_right):
            right.arrived(one)
    with pytest.raises(FrameError):
        left.credited({"type": "credit", "channel": 3, "bytes": 2**40})


def test_who_is_muted_says_nothing():
    left, to_right, *_ = ends()
    to_right.clear()
    left.mute()
    left.end()
    assert to_right == []
