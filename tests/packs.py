"""Packs of files for the tests: made of a directory, or written by hand."""

from __future__ import annotations

import hashlib
import io
import json
import os
from pathlib import Path
from typing import Any

from tfmesos.launcher.ship.pack import Pack, Packer
from tfmesos.launcher.ship.tree import Tree

NO_LIMIT = 2**40


def write(directory: Path, **files: str | bytes) -> Path:
    """Files by their names; a double underscore is a slash, a single one a dot."""
    for name, content in files.items():
        path = directory / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return directory


def tree_of(directory: Path) -> Tree:
    tree = Tree()
    tree.add_directory(str(directory))
    return tree


def packed(directory: Path, *, limit: int = NO_LIMIT, is_deflated: bool = True) -> Pack:
    return Packer(io.BytesIO(), limit, is_deflated).pack(tree_of(directory))


def by_hand(data: bytes = b"", **manifest: Any) -> Pack:
    """A pack that no launcher would make."""
    whole = {"directories": [], "contents": [], "links": [], **manifest}
    return Pack(json.dumps(whole).encode(), io.BytesIO(data))


def one_file(path: str, data: bytes = b"x", mode: int = 0o644) -> list[Any]:
    """An entry of ``contents``."""
    return [hashlib.sha256(data).hexdigest(), len(data), None, [[path, mode]]]


def everything_in(directory: Path) -> dict[str, Any]:
    """Name -> what it is: content and mode of a file, target of a link, None for a directory."""
    found: dict[str, Any] = {}
    for place, directories, names in os.walk(directory):
        for name in directories + names:
            path = Path(place, name)
            if path.is_symlink():
                what: Any = f"-> {os.readlink(path)}"
            else:
                is_file = path.is_file()
                what = (path.read_bytes(), path.stat().st_mode & 0o777) if is_file else None
            found[str(path.relative_to(directory))] = what
    return found
