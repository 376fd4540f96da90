"""Packs of files whose manifest is not what a launcher would write."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from tfmesos.errors import FrameError
from tfmesos.node.task.unpack import Unpacker

DATA = b"0123456789"


def _content(data: bytes, *paths: str) -> list[Any]:
    modes = [[path, 0o644] for path in paths]
    return [hashlib.sha256(data).hexdigest(), len(data), None, modes]


MANIFESTS = [
    {
        "directories": [["a", 0o755], ["a/b", 0o700]],
        "contents": [_content(DATA, "a/x", "y"), _content(b"", "a/b/z")],
        "links": [["a/b/link", "../../y"], ["way", "a"], ["loop", "loop"]],
    },
    {
        "directories": [["a", 0o755], ["a/b", 0o755]],
        "contents": [_content(DATA, "a/b/d/x"), _content(b"", "way/z"), _content(b"", "../out")],
        "links": [["a/b/d", ".."], ["a/b/d/q", "../../x"], ["up", "../.."], ["q", "a/b/d/../.."]],
    },
]


def check_manifest(manifest: Any) -> None:
    """Whatever it says, nothing is made outside of its directory, and no other error is raised."""
    text = json.dumps(manifest).encode()
    described = {
        "size": len(text) + len(DATA),
        "manifest": len(text),
        "sha256": hashlib.sha256(text).hexdigest(),
    }
    with tempfile.TemporaryDirectory() as place:
        unpacker = Unpacker(f"{place}/copy", described)
        try:
            unpacker.feed(text + DATA)
        except (FrameError, OSError):
            pass
        assert os.listdir(place) == ["copy"]
        _check_links(Path(place, "copy"))
        unpacker.remove_all()
        assert os.listdir(place) == []


def _check_links(copy: Path) -> None:
    for path in copy.rglob("*"):
        place = os.path.realpath(path)
        assert os.path.commonpath([place, os.path.realpath(copy)]) == os.path.realpath(copy), path
