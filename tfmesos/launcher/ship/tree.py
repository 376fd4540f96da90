"""What is shipped: the files, directories and links below a directory, and single files beside."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Sequence

from ...errors import CannotRead, SpecError
from .ignore import Rules

MAX_FILES = 100_000  # all that a node receives at once
MAX_DEPTH = 200  # of directories in each other: whoever removes them goes down by recursion


class Stopped(Exception):
    """Nobody wants it any more."""


class Tree:
    """Names are relative to the directory, and sorted, so that a tree has only one form."""

    def __init__(self, is_stopped: Callable[[], bool] = lambda: False) -> None:
        self._is_stopped = is_stopped
        self.directories: dict[str, int] = {}  # name -> mode
        self.files: dict[str, tuple[str, os.stat_result]] = {}  # name -> path here
        self.links: dict[str, str] = {}  # name -> target

    @property
    def size(self) -> int:
        return sum(found.st_size for _, found in self.files.values())

    def largest(self, number: int) -> list[tuple[str, int]]:
        """The names and sizes of the largest files."""
        sizes = [(name, found.st_size) for name, (_, found) in self.files.items()]
        return sorted(sizes, key=lambda one: (-one[1], one[0]))[:number]

    def add_directory(self, root: str) -> None:
        """Raises CannotRead for what cannot be shipped, and Stopped if it is given up."""
        root = os.path.realpath(root)
        self._walk(root, "", Rules.above(root))

    def _walk(self, root: str, inner: str, rules: Rules) -> None:
        if self._is_stopped():
            raise Stopped
        if inner.count("/") >= MAX_DEPTH:
            top = inner.partition("/")[0]
            problem = f"has directories nested more than {MAX_DEPTH} levels deep in {top!r}"
            raise SpecError(None, "ship", f"{problem}: leave it out with .tfignore")
        place = os.path.join(root, inner) if inner else root
        entries, rules = _entries(place), rules.within(place)
        for entry in entries:
            try:
                self._add(root, inner, entry, rules)
            except OSError as error:
                raise CannotRead(f"{entry.path} cannot be read: {error.strerror}") from error

    def _add(self, root: str, inner: str, entry: os.DirEntry[str], rules: Rules) -> None:
        is_directory = entry.is_dir(follow_symlinks=False)
        if rules.leave_out(entry.path, is_directory):
            return
        name, found = os.path.join(inner, entry.name), entry.stat(follow_symlinks=False)
        if entry.is_symlink():
            self.links[name] = _target(root, name)
        elif is_directory:
            self.directories[name] = stat.S_IMODE(found.st_mode)
            self._walk(root, name, rules)
        elif entry.is_file(follow_symlinks=False):
            self._add_file(name, entry.path, found)

    def add_files(self, files: Iterable[tuple[str, str]]) -> None:
        """Add single files, given as path and name."""
        for path, name in files:
            if name in self.files or name in self.links or name in self.directories:
                raise SpecError(None, "ship_files", f"gives two files the name {name!r}")
            self._add_parents(name)
            try:
                self._add_file(name, path, os.stat(path))
            except OSError as error:
                raise CannotRead(f"{path} cannot be read: {error.strerror}") from error

    def _add_parents(self, name: str) -> None:
        parent = os.path.dirname(name)
        if parent in self.files or parent in self.links:
            problem = f"{name!r} would be in a directory, but {parent!r} is not one"
            raise SpecError(None, "ship_files", problem)
        if parent and parent not in self.directories:
            self._add_parents(parent)
            self.directories[parent] = 0o755

    def _add_file(self, name: str, path: str, found: os.stat_result) -> None:
        self.files[name] = path, found
        if len(self.files) > MAX_FILES:
            problem = f"has more than {MAX_FILES:,} files: leave some of them out with .tfignore"
            raise SpecError(None, "ship", problem)


def _entries(place: str) -> Sequence[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        raise CannotRead(f"{place} cannot be read: {error.strerror}") from error


def _target(root: str, name: str) -> str:
    """Where a link leads, relative to its directory, so that it leads there on a node, too."""
    path = os.path.join(root, name)
    target = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
    for place in (target, os.path.realpath(path)):
        if os.path.commonpath([root, place]) != root:
            problem = f"contains the link {name}, which points outside it, to {place}"
            raise SpecError(None, "ship", f"{problem}: leave it out with .tfignore")
    return os.path.relpath(target, os.path.dirname(path))
