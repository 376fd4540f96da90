"""Output that waits for the next launcher when memory has no room for it."""

from __future__ import annotations

import os

from tfmesos.node.link import spill
from tfmesos.node.link.outbox import Outbox
from tfmesos.node.link.spill import Spill
from tfmesos.shared import wire

LINE = "x" * 999 + "\n"


def outbox(tmp_path, monkeypatch, limit=10**9):
    monkeypatch.setenv("MESOS_SANDBOX", str(tmp_path))
    made = Outbox(limit=200_000)
    made.spill = Spill(limit)
    made.spills = True
    return made


def texts(made):
    """All that it has, acknowledged; and how many lines it has not."""
    found = []
    while frames := list(iter(made.next, None)):
        found += [wire.decode(frame[4:]) for frame in frames]
        made.acknowledge(made.acked + made.waiting)
    return "".join(one["text"] for one in found), sum(one["dropped"] for one in found)


def test_nothing_is_dropped_while_nobody_takes_it_and_its_order_stays(tmp_path, monkeypatch):
    made = outbox(tmp_path, monkeypatch)
    written = [f"{number:04d}{LINE}" for number in range(2000)]  # ten times what memory may hold
    for line in written:
        made.add_text("stdout", line)
        assert not made.is_full
    assert len(made.spill) and os.listdir(tmp_path) == []  # the file has no name
    made.rewind(0)
    assert texts(made) == ("".join(written), 0)
    made.spills = False
    assert len(made.spill) == 0 and made.waiting == 0
    made.add_text("stdout", "more\n")
    assert texts(made) == ("more\n", 0)


def test_what_does_not_fit_is_counted_where_it_is_missing(tmp_path, monkeypatch):
    made = outbox(tmp_path, monkeypatch, limit=500_000)
    for _ in range(2000):
        made.add_text("stdout", LINE)
    made.rewind(0)
    text, dropped = texts(made)
    assert dropped and text.count("\n") + dropped == 2000
    assert len(text) > 500_000


def test_a_disk_that_refuses_is_as_good_as_none(tmp_path, monkeypatch):
    made = outbox(tmp_path / "none", monkeypatch)
    for _ in range(2000):
        made.add_text("stdout", LINE)
    made.rewind(0)
    text, dropped = texts(made)
    assert dropped and text.count("\n") + dropped == 2000
    assert not made.spill.has_room


def test_frames_are_read_as_they_were_written(tmp_path, monkeypatch):
    monkeypatch.setenv("MESOS_SANDBOX", str(tmp_path))
    made = spill.Spill(1000)
    places = [made.add(bytes([n]) * 100) for n in range(5)]
    assert [made.read(place) for place in places] == [bytes([n]) * 100 for n in range(5)]
    for _ in range(5):
        made.remove()
    assert made.add(b"new") == (0, 3)
