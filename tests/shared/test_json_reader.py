"""JSON of others is read as the standard library reads it, within limits."""

from __future__ import annotations

import json
import math
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.shared.json_reader import MAX_DEPTH, MAX_VALUES, read

from .random_messages import LEAVES

VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.sampled_from([None, 1]), st.booleans())
def test_json_of_others_is_read(value, indent, ascii):
    text = json.dumps(value, indent=indent, ensure_ascii=ascii)
    assert read(text.encode("utf-8", "replace")) == json.loads(
        text.encode("utf-8", "replace").decode()
    )


@given(st.text(alphabet='{}[]",:0123456789.eE+-\\ \n\tnulltrefasNI/u', max_size=12))
def test_what_is_no_json_is_refused(text):
    try:
        expected = json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except ValueError:
        with pytest.raises(ValueError):
            read(text.encode())
    else:
        assert read(text.encode()) == expected


def _refuse(name: str) -> None:
    raise ValueError(name)


def _finite(text: str) -> float:
    return float(text) if math.isfinite(float(text)) else _refuse(text)


@pytest.mark.parametrize(
    "number", ["1e999", "-1e999", "NaN", "Infinity", "-Infinity", "1" * 21, "-" + "1" * 21]
)
def test_a_number_beyond_all_bounds_is_refused(number):
    with pytest.raises(ValueError):
        read(b'{"a": [%s]}' % number.encode())


@pytest.mark.parametrize("number", [2**64, -(2**64), 10**20 - 1, 1.7e308, 5e-324, -0.5])
def test_a_number_within_bounds_is_read(number):
    assert read(json.dumps(number).encode()) == number


def test_bytes_that_are_not_utf_8_are_refused():
    with pytest.raises(ValueError):
        read(b'"\xff"')


def nested(depth: int, opening: bytes = b"[", closing: bytes = b"]") -> bytes:
    return opening * depth + b"1" + closing * depth


@pytest.mark.parametrize("brackets", [(b"[", b"]"), (b'{"a":', b"}"), (b'[{"]":', b"}]")])
def test_nesting_is_allowed_to_a_depth_and_no_deeper(brackets):
    levels = brackets[1].count(b"]") + brackets[1].count(b"}")
    assert read(nested(MAX_DEPTH // levels, *brackets))
    for depth in (MAX_DEPTH // levels + 1, 500, 100_000):
        with pytest.raises(ValueError, match="nested"):
            read(nested(depth, *brackets))


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
@pytest.mark.parametrize("text", ['"', "\\", '\\"', '[{"', 'a\\\\"[[', "[" * 200, "\n]"])
def test_brackets_within_texts_do_not_count(text, depth):
    value = [text, {text: text}, text]
    for _ in range(depth - 2):
        value = [text, value]
    data = json.dumps(value).encode()
    if depth > MAX_DEPTH:
        with pytest.raises(ValueError, match="nested"):
            read(data)
    else:
        assert read(data) == value


@pytest.mark.parametrize("unit", [b"[],", b"{},", b"0,", nested(60)[:-60] + b"]" * 60 + b","])
def test_more_values_than_are_allowed_are_refused_before_they_cost_memory(unit):
    data = b"[" + unit * (64 * 1024 * 1024 // len(unit)) + b"0]"
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=f"more than {MAX_VALUES} values"):
            read(data)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
