from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.engines.mesos.api.recordio import RecordDecoder, encode
from tfmesos.errors import FrameError

RECORDS = st.lists(st.binary(max_size=40), max_size=8)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(edges)]


def decoded(decoder: RecordDecoder, pieces: list[bytes]) -> list[bytes]:
    return [record for piece in pieces for record in decoder.feed(piece)]


@given(RECORDS, st.lists(st.integers(min_value=0), max_size=20))
def test_records_survive_any_cutting_of_the_stream(records, places):
    decoder = RecordDecoder()
    stream = b"".join(map(encode, records))
    assert decoded(decoder, cut(stream, places)) == records
    decoder.close()


@given(RECORDS)
def test_records_survive_coming_byte_by_byte(records):
    stream = b"".join(map(encode, records))
    assert decoded(RecordDecoder(), [bytes([byte]) for byte in stream]) == records


@given(st.text(max_size=40))
def test_the_length_counts_bytes_and_not_characters(text):
    record = text.encode()
    assert encode(record).partition(b"\n")[0] == str(len(record)).encode()


@given(st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4), st.data())
def test_a_stream_that_ends_inside_a_record_is_told_from_a_clean_end(records, data):
    stream = b"".join(map(encode, records))
    last = len(encode(records[-1]))
    end = data.draw(st.integers(len(stream) - last + 1, len(stream) - 1))
    decoder = RecordDecoder()
    assert decoded(decoder, [stream[:end]]) == records[:-1]
    with pytest.raises(FrameError, match="middle of a record"):
        decoder.close()


@given(st.integers(min_value=11, max_value=10**19), st.booleans())
def test_a_record_over_the_limit_is_refused_before_it_is_read(length, byte_by_byte):
    line = b"%d\n" % length
    pieces = [bytes([byte]) for byte in line] if byte_by_byte else [line]
    with pytest.raises(FrameError, match=f"{length} bytes is over the limit of 10"):
        decoded(RecordDecoder(max_record=10), pieces)


def test_a_record_of_just_the_limit_is_accepted():
    assert decoded(RecordDecoder(max_record=10), [encode(b"0123456789")]) == [b"0123456789"]


@pytest.mark.parametrize(
    "stream",
    [
        b"\n",
        b"-1\nx",
        b"+1\nx",
        b" 1\nx",
        b"1 \nx",
        b"1\r\nx",
        b"0x1\nx",
        b"1_0\n",
        b"1.0\n",
        b"{}",
    ],
)
def test_a_length_that_is_no_plain_number_is_refused_and_shown(stream):
    with pytest.raises(FrameError, match=r"length of a record, got b"):
        decoded(RecordDecoder(), [stream])


def test_digits_of_other_scripts_are_no_length():
    with pytest.raises(FrameError):
        decoded(RecordDecoder(), ["٣\nabc".encode()])


@given(st.integers(min_value=1, max_value=50))
def test_a_length_line_that_never_ends_is_refused_after_a_few_bytes(size):
    decoder = RecordDecoder()
    with pytest.raises(FrameError):
        decoded(decoder, [b"0" * size] * 50)


@given(st.binary(max_size=60))
def test_garbage_gives_records_or_a_frame_error_and_nothing_else(garbage):
    try:
        decoded(RecordDecoder(max_record=20), [garbage])
    except FrameError:
        pass


def test_after_a_good_record_a_malformed_one_is_still_refused():
    decoder = RecordDecoder()
    records = decoder.feed(encode(b"good") + b"<html>")
    assert next(records) == b"good"
    with pytest.raises(FrameError, match="<html>"):
        next(records)
