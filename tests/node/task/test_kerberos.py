"""When a ticket has to be renewed, and what is said of one that could not be had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos.node.task import kerberos


def block(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def number(value: int) -> bytes:
    return value.to_bytes(4, "big")


def principal(*names: str) -> bytes:
    parts = b"".join(block(name.encode()) for name in ("REALM", *names))
    return number(1) + number(len(names)) + parts


def entry(end: int, server: bytes) -> bytes:
    times = b"".join(map(number, (1000, 1000, end, 9000)))
    lists = number(1) + b"\0\2" + block(b"1234") + number(0)
    key = b"\0\x12" + block(b"k" * 32)
    return principal("user") + server + key + times + bytes(5) + lists + block(b"t") + block(b"")


def cache(*ends: int) -> bytes:
    """As MIT writes it: the first entry holds a setting, and has no times."""
    header = b"\0\x0c" + b"\0\1\0\x08" + bytes(8)
    settings = entry(0, principal("krb5_ccache_conf_data", "pa_type"))
    entries = b"".join(entry(end, principal("krbtgt", "REALM")) for end in ends)
    return b"\x05\x04" + header + principal("user") + settings + entries


def test_the_end_of_a_ticket_is_that_of_the_first_entry_which_has_one():
    assert kerberos.end_of_ticket(cache(5000, 7000)) == 5000


def test_a_cache_without_tickets_or_of_another_kind_says_nothing():
    assert kerberos.end_of_ticket(cache()) == 0
    assert kerberos.end_of_ticket(b"\x05\x03" + cache(5000)[2:]) == 0


def test_a_cache_that_is_cut_off_says_nothing_wrong():
    whole = cache(5000)
    for size in range(len(whole)):
        assert kerberos.end_of_ticket(whole[:size]) in (0, 5000), size


@given(st.binary())
def test_no_bytes_are_a_fault(data):
    assert kerberos.end_of_ticket(b"\x05\x04" + data) >= 0


@pytest.mark.parametrize(
    "end, now, seconds",
    [
        (0, 1000, kerberos.RENEW_EVERY),
        (1100, 1000, 50),
        (1001, 1000, kerberos.SHORTEST_PAUSE),
        (900, 1000, kerberos.SHORTEST_PAUSE),  # our clock is ahead of the KDC's
        (10**9, 1000, kerberos.LONGEST_PAUSE),
    ],
)
def test_a_ticket_is_renewed_when_half_of_its_time_has_passed(end, now, seconds):
    assert kerberos.pause(end, now) == seconds


@pytest.mark.parametrize(
    "ending, written, expected",
    [
        (
            (1, "exited with 1"),
            "a\nkinit: no\n\n",
            (1, "got no Kerberos ticket for u@R: kinit: no"),
        ),
        (
            (137, "was killed by SIGKILL (signal 9)"),
            "",
            (137, "got no Kerberos ticket for u@R: kinit was killed by SIGKILL (signal 9)"),
        ),
    ],
)
def test_a_failure_is_told_in_the_words_of_kinit(ending, written, expected):
    assert kerberos.failure("u@R", ending, written) == expected


def test_a_new_ticket_takes_the_place_of_the_old_one_at_once(tmp_path):
    (tmp_path / "krb5cc").write_bytes(b"old")
    (tmp_path / "krb5cc.new").write_bytes(cache(1100))
    assert kerberos.adopt(str(tmp_path), "u@R", 1000) == ((0, ""), 50)
    assert (tmp_path / "krb5cc").read_bytes() == cache(1100)
    assert kerberos.argv("/s", "u@R")[-3:] == ["-c", "/s/krb5cc.new", "u@R"]


def test_a_directory_that_the_command_has_removed_is_no_fault(tmp_path):
    gone = tmp_path / "gone"
    reason = f"got no Kerberos ticket for u@R: {gone}/krb5cc: No such file or directory"
    expected = (74, reason), kerberos.RETRY_AFTER
    assert kerberos.adopt(str(gone), "u@R", 1000) == expected
