"""What others wrote reaches a terminal as text: it moves, hides and turns nothing."""

from __future__ import annotations

import pytest

from tfmesos.sanitize import cell, columns_of, fit, plain, plain_all, tidy

# All that Unicode calls Bidi_Control.
TURNING = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"

BESIDE = "\u2065\u206a\u202f\u2029x"


def number(character):
    return f"{ord(character):04x}"


@pytest.mark.parametrize("mark", TURNING, ids=number)
def test_no_mark_turns_the_direction_of_our_words(mark):
    assert plain(f"host{mark}name") == "hostname"


@pytest.mark.parametrize("character", BESIDE, ids=number)
def test_what_stands_beside_these_marks_is_no_such_mark(character):
    assert plain(f"a{character}b\x07") == ("ab" if character == "\u2029" else f"a{character}b")


@pytest.mark.parametrize(
    ("line", "tidied", "plainly"),
    [
        ("text", "text", "text"),
        ("a\tb", "a\tb", "a\tb"),
        ("10%\r50%\r", "50%", "10%50%"),
        ("\x1b[31mred", "\x1b[31mred\x1b[0m", "red"),
        ("\x1b[38:5:9;1mred\x1b[0m", "\x1b[38:5:9;1mred\x1b[0m\x1b[0m", "red"),
        ("a\x1b[2Jb\x1b[1;1Hc", "abc", "abc"),
        ("a\x1b[?25lb", "ab", "ab"),
        ("a\x1b]0;title\x07b", "ab", "ab"),
        ("a\x1b]8;;http://h\x1b\\b", "ab", "ab"),
        ("a\x1bPdevice\x1b\\b", "ab", "ab"),
        ("a\x1b]0;no end", "a", "a"),
        ("a\x1bcb\x1b", "ab", "ab"),
        ("a\x00b\x08c\x7fd\x85e\x9bf", "abcdef", "abcdef"),
        ("a\nb\u2028c", "abc", "abc"),
    ],
)
def test_of_controls_only_colours_are_left_and_of_those_none_beside_our_words(
    line, tidied, plainly
):
    assert (tidy(line), plain(line)) == (tidied, plainly)


def test_further_lines_of_others_cannot_pass_for_lines_of_ours():
    assert plain_all("a\x1b[8m\ntfrun: b\nc") == "a\n  tfrun: b\n  c"
    assert plain_all("a\nb", "> ") == "a\n> b"


@pytest.mark.parametrize(
    ("line", "columns"),
    [("", 0), ("abc", 3), ("日本", 4), ("e\u0301", 1), ("a\u200bb", 2)],
)
def test_columns_are_those_of_a_terminal(line, columns):
    assert columns_of(line) == columns


@pytest.mark.parametrize(
    ("line", "width", "fits"),
    [
        *(("abcd", 3, "abc"), ("abc", 3, "abc"), ("abc", 0, "")),
        *(("日本", 3, "日"), ("日本", 4, "日本"), ("日本", 1, ""), ("e\u0301f", 1, "e\u0301")),
    ],
)
def test_of_a_line_as_much_is_shown_as_fits(line, width, fits):
    assert fit(line, width) == fits


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        *(("ab", 4, "ab  "), ("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("ab", 1, "…")),
        *(("ab", 0, ""), ("日本語", 5, "日本…"), ("日本語", 4, "日… "), ("a\tb", 3, "a b")),
    ],
)
def test_a_cell_is_exactly_as_wide_as_its_column(text, width, shown):
    assert cell(text, width) == shown


def test_a_cell_may_stand_at_the_right():
    assert cell("ab", 4, right=True) == "  ab"
