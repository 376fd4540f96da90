from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.node.process.line_splitter import MAX_LINE, LineSplitter


def split(data: bytes, size: int) -> list[str]:
    splitter = LineSplitter()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return lines_of("".join(splitter.feed(piece) for piece in pieces) + splitter.close())


def lines_of(text: str) -> list[str]:
    return text.split("\n")[:-1]


@given(
    st.lists(st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]))),
    st.integers(1, 9),
)
def test_lines_come_out_whole_however_the_bytes_are_cut(lines, size):
    data = "".join(line + "\n" for line in lines).encode()
    assert split(data, size) == lines


@given(st.binary(), st.integers(1, 9))
def test_any_bytes_give_the_same_text_however_they_are_cut(data, size):
    assert split(data, size) == split(data, len(data) + 1)
    "\n".join(split(data, size)).encode()  # can always be written


def test_a_last_line_without_its_end_is_not_lost():
    assert split(b"a\r\nb", 100) == ["a", "b"]


def test_bytes_that_are_no_text_are_shown():
    assert split(b"caf\xe9\xff\n", 100) == ["caf\\xe9\\xff"]


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_very_long_line_comes_in_pieces(end):
    lines = split(b"x" * (2 * MAX_LINE + 5) + end, 50_000)
    assert [len(line) for line in lines] == [MAX_LINE, MAX_LINE, 5]
