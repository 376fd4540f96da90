"""Trees of files as bytes: what comes is what was sent, and never half of it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tfmesos.shared.copy_stream import (
    CannotCopy,
    Received,
    content,
    destination,
    sent,
    stays_inside,
)


@pytest.fixture
def source(tmp_path):
    made = tmp_path / "source"
    (made / "sub" / "empty").mkdir(parents=True)
    (made / "sub" / "data").write_bytes(os.urandom(100_000))
    (made / "run.sh").write_text("#!/bin/sh\n")
    (made / "run.sh").chmod(0o750)
    (made / "none").touch()
    (made / "way").symlink_to("sub/data")
    (made / "out").symlink_to("/etc/passwd")
    os.mkfifo(made / "fifo")
    (made / "sub").chmod(0o555)
    yield made
    (made / "sub").chmod(0o755)


def copied(pieces, place, size=1000, **options):
    """What *place* becomes if it comes in pieces of this size."""
    received = Received(str(place), **options)
    data = b"".join(pieces)
    for at in range(0, len(data), size):
        received.feed(data[at : at + size])
    received.finish()
    return received


def test_a_guard_knows_of_a_copy_before_anything_of_it_is_there(tmp_path):
    warned = []
    received = Received(
        str(tmp_path / "x"),
        lines=False,
        warn_guard=lambda path: warned.append(os.listdir(tmp_path)),
    )
    received.abandon()
    assert (warned, os.listdir(tmp_path)) == ([[]], [])


def test_the_longest_name_that_a_file_can_have_can_be_copied(tmp_path):
    place = tmp_path / ("\u65e5" * 85)  # 255 bytes
    received = Received(str(place), lines=False)
    received.feed(b"data")
    received.finish()
    assert place.read_bytes() == b"data"


@pytest.mark.parametrize("made, kind", [("file", "directory"), ("directory", "file")])
def test_what_is_in_the_way_is_found_with_the_first_line(tmp_path, made, kind):
    place, source = tmp_path / "place", tmp_path / "source"
    for path, what in ((place, made), (source, kind)):
        path.mkdir() if what == "directory" else path.write_bytes(b"data")
    received = Received(str(place))
    with pytest.raises(CannotCopy, match="place exists"):
        received.feed(next(sent(str(source))))
    received.abandon()
    if made == "directory":
        with pytest.raises(CannotCopy, match="place exists"):
            Received(str(place), lines=False)
    assert sorted(os.listdir(tmp_path)) == ["place", "source"]


@pytest.mark.parametrize("size", [7, 1000, 10**6])
def test_a_tree_comes_with_its_contents_modes_and_times_and_no_link_that_leads_out(
    source, tmp_path, size
):
    target = tmp_path / "target"
    received = copied(sent(str(source)), target, size)
    assert (target / "sub/data").read_bytes() == (source / "sub/data").read_bytes()
    assert os.readlink(target / "way") == "sub/data"
    assert sorted(received.left_out) == ["fifo", "out"]
    for path in ("run.sh", "sub", "none", "sub/empty"):
        theirs, ours = (source / path).stat(), (target / path).stat()
        assert (theirs.st_mode, theirs.st_mtime_ns) == (ours.st_mode, ours.st_mtime_ns)
    (target / "sub").chmod(0o755)
    assert sorted(os.listdir(tmp_path)) == ["source", "target"]


def test_a_file_takes_the_place_of_a_file_and_a_tree_of_nothing(source, tmp_path):
    target = tmp_path / "target"
    target.write_text("old")
    copied(sent(str(source / "run.sh")), target)
    assert target.read_text() == "#!/bin/sh\n"
    (tmp_path / "there").mkdir()
    with pytest.raises(CannotCopy, match="exists"):
        copied(sent(str(source)), tmp_path / "there")


def test_the_content_of_a_file_is_copied_without_more(source, tmp_path):
    data = (source / "sub" / "data").read_bytes()
    assert b"".join(content(str(source / "way"))) == data
    copied([data], tmp_path / "target", lines=False)
    assert (tmp_path / "target").read_bytes() == data


def test_what_is_abandoned_or_not_whole_leaves_nothing(source, tmp_path):
    data = b"".join(sent(str(source)))
    for size in (0, 10, len(data) // 2, len(data) - 20):
        received = Received(str(tmp_path / "target"))
        received.feed(data[:size])
        if size == len(data) // 2:
            with pytest.raises(CannotCopy):
                received.finish()
        received.abandon()
        assert os.listdir(tmp_path) == ["source"]


def line(**about):
    return (
        json.dumps({"kind": "file", "target": "", "size": 0, "mode": 0, **about}).encode() + b"\n"
    )


TOP = line(path="", kind="directory", mode=0o755)


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\n",
        b"[]\n",
        line(path="../x"),
        line(path="x"),
        TOP + line(path="/etc/x"),
        TOP + line(path="a/../../x"),
        TOP + line(path="a\0b"),
        TOP + line(path=""),
        TOP + line(path="x", size=-1),
        TOP + line(path=5),
        b"x" * 70_000,
    ],
)
def test_what_no_sender_says_is_refused_and_nothing_is_made_outside(tmp_path, data):
    received = Received(str(tmp_path / "target"))
    with pytest.raises((CannotCopy, OSError)):
        received.feed(data)
        received.finish()
    received.abandon()
    assert os.listdir(tmp_path) == []


def test_nothing_is_written_through_a_link(tmp_path):
    (tmp_path / "outside").mkdir()
    received = Received(str(tmp_path / "target"))
    received.feed(TOP + line(path="d", kind="link", target="sub"))
    with pytest.raises(CannotCopy, match="was damaged in transit"):
        received.feed(line(path="d/x", size=1))
    received.abandon()
    assert os.listdir(tmp_path) == ["outside"]


@pytest.mark.parametrize(
    "path, target, stays",
    [("a", "b", True), ("d/a", "../b", True), ("a", "../b", False), ("a", "/b", False)],
)
def test_a_link_stays_inside_by_its_words(path, target, stays):
    assert stays_inside(path, target) == stays


def test_a_copy_into_a_directory_keeps_its_name(tmp_path):
    assert destination(str(tmp_path), "x") == str(tmp_path / "x")
    assert destination(f"{tmp_path}/new", "x") == f"{tmp_path}/new"


def lines(*entries):
    return b"".join(json.dumps({"target": "", **entry}).encode() + b"\n" for entry in entries)


def directory(path):
    return {"path": path, "kind": "directory", "mode": 0o755}


def test_no_link_is_made_through_another_link(tmp_path):
    (tmp_path / "target").mkdir()
    received = Received(str(tmp_path / "target" / "tree"))
    tree = lines(
        *map(directory, ("", "top", "deep", "deep/a")),
        {"path": "deep/a/b", "kind": "link", "target": "../../top"},
        {"path": "deep/a/b/link", "kind": "link", "target": "../../../x"},
    )
    with pytest.raises(CannotCopy, match="was damaged in transit"):
        received.feed(tree)
    received.abandon()
    assert os.listdir(tmp_path / "target") == []


@pytest.mark.parametrize(
    "wrong",
    [
        b'"path": "", "kind": "file", "target": "", "time": 1e300',
        b'"path": "", "kind": "file", "target": "", "size": Infinity',
        b'"path": "", "kind": "file", "target": "", "size": 1.5',
        b'"path": "", "kind": "file", "target": ' + b"[" * 5000,
        b'"path": 7, "kind": "file", "target": ""',
        b'"path": "\\ud800", "kind": "file", "target": ""',
    ],
)
def test_values_beyond_all_bounds_are_damage_not_a_traceback(tmp_path, wrong):
    received = Received(str(tmp_path / "target"))
    with pytest.raises(CannotCopy, match="was damaged in transit"):
        received.feed(b"{" + wrong + b"}\n")
    received.abandon()
    assert os.listdir(tmp_path) == []


def test_a_name_that_is_not_unicode_is_kept(tmp_path):
    (tmp_path / "source").mkdir()
    name = os.fsdecode(b"caf\xe9")
    (tmp_path / "source" / name).write_text("x")
    copied(sent(str(tmp_path / "source")), tmp_path / "target")
    assert os.listdir(tmp_path / "target") == [name]


def test_what_is_neither_a_file_nor_a_directory_is_never_replaced(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "way").symlink_to("fifo")
    for name in ("fifo", "way"):
        with pytest.raises(CannotCopy, match=f"{name} is neither a file"):
            Received(str(tmp_path / name))


def test_a_file_of_proc_comes_with_its_content_though_it_has_no_size(tmp_path):
    copied(sent("/proc/version"), tmp_path / "target")
    assert (tmp_path / "target").read_text() == Path("/proc/version").read_text() != ""


def test_a_tree_deeper_than_python_recurses_is_sent_and_refused_by_its_depth(tmp_path):
    top = tmp_path / "deep"
    top.mkdir()
    try:
        subprocess.run(["mkdir", "-p", str(top / "/".join("d" * 1200))], check=True)
        tree = list(sent(str(top)))
        assert len(tree) == 1201
        received = Received(str(tmp_path / "target"))
        with pytest.raises(CannotCopy, match="more than 500 directories deep"):
            received.feed(b"".join(tree))
        received.abandon()
        assert os.listdir(tmp_path) == ["deep"]
    finally:
        subprocess.run(["rm", "-rf", str(top)], check=True)
