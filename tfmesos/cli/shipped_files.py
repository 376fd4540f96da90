"""What ``--ship`` would send, for ``tfrun --dry-run``: nothing is fetched, packed or sent."""

from __future__ import annotations

from collections.abc import Iterator

from ..config.ship_settings import Ship
from ..launcher.ship.tree import Tree
from ..sanitize import plain
from ..text import count, size_text


def shipped_files(ship: Ship) -> Iterator[str]:
    """A line for each file, the largest first. SpecError or CannotRead as in a run."""
    tree = Tree()
    if ship.directory is not None:
        tree.add_directory(ship.directory)
    tree.add_files((path, name) for path, name in ship.files if path not in ship.addresses)
    total = f"{count(len(tree.files), 'file')}, {size_text(tree.size)}"
    yield f"ships {total} before packing to each task"
    for address in ship.addresses:
        yield f"    the contents of {address}"
    for name, size in tree.largest(len(tree.files)):
        yield f"    {size_text(size):>10}  {plain(name)}"
    for name, target in tree.links.items():
        yield f"    {'link':>10}  {plain(name)} -> {plain(target)}"
