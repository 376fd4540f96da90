"""Messages in frames, and their fields."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared.random_messages import MESSAGES
from tfmesos.errors import FrameError
from tfmesos.shared import wire

SECRET = b"s" * 32


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@given(st.lists(MESSAGES, max_size=5), st.integers(1, 40))
def test_messages_survive_any_cutting_of_the_bytes(messages, size):
    data = b"".join(map(wire.encode, messages))
    decoder = wire.FrameDecoder(wire.MAX_FRAME)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [message for piece in pieces for message in decoder.feed(piece)] == messages


@given(st.binary(max_size=200))
def test_a_piece_of_files_arrives_as_it_is_between_messages(data):
    stop = {"type": "stop"}
    frames = wire.encode(stop) + wire.encode_piece(data) + wire.encode(stop)
    found = list(wire.FrameDecoder().feed(frames))
    assert found == [stop, {"type": "piece", "data": data}, stop]


@given(st.sampled_from(["stdout", "stderr"]), st.text(), st.integers(0, 2**64 - 1))
def test_output_arrives_as_it_was_and_only_what_utf8_cannot_hold_is_spelled_out(
    stream, text, dropped
):
    (found,) = wire.FrameDecoder().feed(wire.encode_output(stream, text, dropped))
    shown = text.encode("utf-8", "backslashreplace").decode()
    assert found == {"type": "output", "stream": stream, "text": shown, "dropped": dropped}


@pytest.mark.parametrize(
    "body", [b"\1", b"\1\0" + bytes(7), b"\1\2" + bytes(8), b"\1\0" + bytes(8) + b"\xff"]
)
def test_output_of_no_stream_or_that_is_no_text_is_refused(body):
    with pytest.raises(FrameError):
        list(wire.FrameDecoder().feed(frame(body)))


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_message_or_a_frame_error(data):
    try:
        messages = list(wire.FrameDecoder().feed(data))
    except FrameError:
        return
    assert all(isinstance(message, dict) for message in messages)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'"x"',
        b"\xff",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"[" * 4000,
    ],
)
def test_what_is_not_a_json_object_is_refused(body):
    with pytest.raises(FrameError):
        list(wire.FrameDecoder().feed(frame(body)))


def test_deep_nesting_is_refused_also_where_big_frames_are_allowed():
    bomb = b'{"a":' * 500_000
    with pytest.raises(FrameError):
        list(wire.FrameDecoder(wire.MAX_FRAME).feed(frame(bomb)))


def test_a_frame_that_is_too_long_is_refused_by_its_first_four_bytes():
    with pytest.raises(FrameError, match="4097 bytes; 4096 are allowed"):
        list(wire.FrameDecoder().feed((4097).to_bytes(4, "big")))


def test_the_limit_may_be_raised_between_two_frames_of_one_read():
    short, long = {"type": "short"}, {"type": "long", "text": "x" * 10_000}
    decoder = wire.FrameDecoder()
    found = []
    for message in decoder.feed(wire.encode(short) + wire.encode(long)):
        found.append(message)
        decoder.limit = wire.MAX_FRAME
    assert found == [short, long]


def test_a_message_that_nobody_would_take_is_not_even_sent():
    with pytest.raises(FrameError, match="too long to send"):
        wire.encode({"text": "x" * wire.MAX_FRAME})


@pytest.mark.parametrize("message", [{}, {"n": "1"}, {"n": True}, {"n": None}, {"n": -1}])
def test_a_count_is_a_number_that_is_not_negative(message):
    with pytest.raises(FrameError):
        wire.count(message, "n")
