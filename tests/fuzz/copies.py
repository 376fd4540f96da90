"""Streams of ``tfrun cp`` that are not what its other end would send."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tfmesos.shared.copy_stream import CannotCopy, Received

from .strategies import JSON, nearly

_FILE = {"path": "", "kind": "file", "target": "", "mode": 0o640, "time": 10**18, "size": 3}
_DIRECTORY = {**_FILE, "kind": "directory", "size": 0}
_LINES = [
    [_FILE],
    [_DIRECTORY, {**_FILE, "path": "a"}, {**_DIRECTORY, "path": "d"}, {**_FILE, "path": "d/b"}],
    [_DIRECTORY, {"path": "way", "kind": "link", "target": "d"}, {**_FILE, "path": "way/x"}],
    [_DIRECTORY, {"path": "up", "kind": "link", "target": "../out"}, {**_FILE, "path": "../out"}],
    [{"path": "", "kind": "link", "target": "/etc"}, {"path": "x", "kind": "other", "target": ""}],
]


def _streamed(lines: Any) -> bytes:
    """Each line, and as much content as the sample has."""
    if not isinstance(lines, list):
        lines = [lines]
    contents = (b"abc" if isinstance(one, dict) and one.get("size") == 3 else b"" for one in lines)
    return b"".join(
        json.dumps(one).encode() + b"\n" + data for one, data in zip(lines, contents, strict=True)
    )


STREAM = st.one_of(
    nearly(_LINES).map(_streamed),
    st.lists(JSON, max_size=3).map(_streamed),
    st.binary(max_size=60),
    st.integers(1, 100_000).map(lambda size: b"[" * size),
)


def check_received(given: tuple[list[bytes], bool]) -> None:
    """All or nothing is made, at its place and nowhere else, and no other error is raised."""
    pieces, is_there = given
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        if is_there:
            (place / "copy").write_text("before")
        received = Received(str(place / "copy"))
        try:
            for piece in pieces:
                received.feed(piece)
            received.finish()
        except (CannotCopy, OSError):
            received.abandon()
            assert os.listdir(place) == (["copy"] if is_there else [])
            assert not is_there or (place / "copy").read_text() == "before"
        else:
            assert os.listdir(place) == ["copy"]
            _open_up(place / "copy")
            assert all(_stays_in(place, path) for path in [place, *place.rglob("*")])


def _stays_in(place: Path, path: Path) -> bool:
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(place))


def _open_up(path: Path) -> None:
    """Its modes may be any; it is to be removed."""
    if path.is_dir() and not path.is_symlink():
        path.chmod(0o700)
        for child in path.iterdir():
            _open_up(child)
