"""What ``.tfignore`` and ``.gitignore`` exclude from a directory, by the rules of git.

A path is checked only if its directory is not excluded itself, so a pattern has to match only the
path, never something above it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from ...errors import CannotRead
from ...plain_file import beginning

ALWAYS = {".git", ".venv", "__pycache__"}  # names of what is left out, whatever the files say
FILES = (".tfignore", ".gitignore")  # the first that says anything about a path is believed
LARGEST = 1024 * 1024  # bytes of such a file

_CLASS = re.compile(r"\[([!^]?)(\]?(?:\\.|[^]\\])*)\]", re.DOTALL)
_NOTHING = "(?!)"


class Pattern:
    """One line of such a file."""

    def __init__(self, text: str) -> None:
        self.is_negated = text.startswith("!")
        text = text.removeprefix("!")
        self._is_for_directories = text.endswith("/")
        text = text.removesuffix("/")
        self._is_for_names = "/" not in text
        self._matches = _compiled(text.removeprefix("/")).fullmatch

    def fits(self, path: str, is_directory: bool) -> bool:
        """*path* is relative to the directory of the file."""
        if self._is_for_directories and not is_directory:
            return False
        return self._matches(os.path.basename(path) if self._is_for_names else path) is not None


class IgnoreFile:
    def __init__(self, path: str, text: str) -> None:
        self._directory = os.path.dirname(path)
        self._patterns = [Pattern(line) for line in _lines(text)]

    def decide(self, path: str, is_directory: bool) -> bool | None:
        """Is *path* excluded? None if no rule matches; the last matching rule counts."""
        inner = os.path.relpath(path, self._directory)
        for pattern in reversed(self._patterns):
            if pattern.fits(inner, is_directory):
                return not pattern.is_negated
        return None


class Rules:
    """The rules of a directory: of the files in it, and of those above in its repository."""

    def __init__(self, files: tuple[tuple[IgnoreFile, ...], ...] = ((),) * len(FILES)) -> None:
        self._files = files  # for each name of FILES, the nearest first

    @classmethod
    def above(cls, directory: str) -> Rules:
        """The rules that the repository of *directory* has above it."""
        rules = cls()
        for place in reversed(list(_above_in_repository(directory))):
            rules = rules.within(place)
        return rules

    def within(self, directory: str) -> Rules:
        """The rules inside of *directory*."""
        own = [_read(os.path.join(directory, name)) for name in FILES]
        if own == [None] * len(FILES):
            return self
        pairs = zip(own, self._files, strict=True)
        return Rules(tuple((file, *files) if file else files for file, files in pairs))

    def leave_out(self, path: str, is_directory: bool) -> bool:
        if os.path.basename(path) in ALWAYS:
            return True
        for file in (file for files in self._files for file in files):
            decided = file.decide(path, is_directory)
            if decided is not None:
                return decided
        return False


def _above_in_repository(directory: str) -> Iterator[str]:
    """From the parent of *directory* to the top of its repository; nothing if there is none."""
    above = []
    place = directory
    while not os.path.lexists(os.path.join(place, ".git")):
        if place == os.path.dirname(place):
            return
        place = os.path.dirname(place)
        above.append(place)
    yield from above


def _read(path: str) -> IgnoreFile | None:
    try:
        text = beginning(path, LARGEST + 1)
    except (FileNotFoundError, IsADirectoryError):
        return None
    except OSError as error:
        raise CannotRead(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > LARGEST:
        raise CannotRead(f"{path} cannot be read: it has more than {LARGEST:,} bytes")
    return IgnoreFile(path, text.decode("utf-8-sig", "surrogateescape"))


def _lines(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        line = line.removesuffix("\r")
        kept = line.rstrip(" ")
        if kept.endswith("\\") and kept != line:  # which keeps the first space
            kept += " "
        if kept and not kept.startswith("#") and kept not in ("!", "/", "!/"):
            yield kept


def _compiled(text: str) -> re.Pattern[str]:
    try:
        return re.compile(_translated(text), re.DOTALL)
    except re.error:  # a pattern that is none matches nothing
        return re.compile(_NOTHING)


def _translated(text: str) -> str:
    """A regular expression for a pattern of git.

    The first place at which what follows a star fits is as good as any other, unless it is the last
    star. So no other place is tried, and a pattern with many stars cannot take forever.
    """
    segments, rest = [[""]], ""  # between two ``**/``: what stands between its stars
    at = 0
    while at < len(text):
        is_first = at == 0 or text[at - 1] == "/"
        part = ""
        if is_first and text.startswith("**/", at):
            segments.append([""])
            at += 3
        elif is_first and at and text[at:] == "**":
            rest, at = ".+", at + 2
        elif text[at] == "*":
            segments[-1].append("")
            at += 1
        else:
            part, at = _one(text, at)
        segments[-1][-1] += part
    *before, last = segments
    fixed = [f"(?>{_segment(pieces, n > 0)})" for n, pieces in enumerate(before)]
    return "".join([*fixed, _segment(last, bool(before), is_last=True), rest])


def _one(text: str, at: int) -> tuple[str, int]:
    """The part that matches a single character, and where it ends."""
    if text[at] == "?":
        return "[^/]", at + 1
    if text[at] == "[":
        found = _CLASS.match(text, at)
        return (_class(*found.groups()), found.end()) if found else (_NOTHING, len(text))
    if text[at] == "\\":
        return re.escape(text[at + 1 : at + 2]) or _NOTHING, at + 2
    return re.escape(text[at]), at + 1


def _segment(pieces: list[str], is_anywhere: bool, is_last: bool = False) -> str:
    first, *others = pieces
    parts = ["(?:[^/]*/)*?" if is_anywhere else "", first]
    parts += [f"(?>[^/]*?{piece})" for piece in others]
    if is_last and others:
        parts[-1] = f"[^/]*{others[-1]}"
    return "".join(parts)


def _class(negation: str, members: str) -> str:
    """One of *members*, or anything else if negated, but never a slash."""
    plain = re.sub(
        r"\\(.)|([^-])", lambda found: re.escape(found[1] or found[2]), members, flags=re.S
    )
    return f"(?!/)[{'^' if negation else ''}{plain}]"
