"""Files of a task's directory that are collected over the link when its command has ended.

They are sent as numbered messages, so a broken connection neither loses nor repeats any; the
launcher has all of them when the end is reported. No link is followed.
"""

from __future__ import annotations

import os
import stat
from fnmatch import fnmatchcase

from ...shared import process, wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from hashlib import sha256
    from typing import Any

    from ..link.outbox import Outbox
    from ..loop import Loop
    from ..runner_settings import Settings
else:
    try:  # five times as fast as the one in `stdlib`, without all that hashlib loads beside it
        from _hashlib import openssl_sha256 as sha256
    except ImportError:
        from hashlib import sha256

PIECE = 128 * 1024  # bytes
WINDOW = 48  # pieces on their way, and in our memory
MOST_FILES = 10000


class Bring:
    """*is_cut* says when it is impossible, or too late, to send anything else."""

    def __init__(
        self,
        loop: Loop,
        outbox: Outbox,
        settings: Settings,
        is_cut: Callable[[], bool],
        say: Callable[[str], None],
    ) -> None:
        self._loop = loop
        self._outbox = outbox
        self._is_cut = is_cut
        self._say = say
        self._task = settings.task
        self._room = settings.bring_limit

    def send(self, directory: str, globs: Sequence[str]) -> None:
        """Send what matches in *directory*.

        Processes that might still write to it are ended first.
        """
        process.kill_marked(process.MARK, self._task)
        names = found(directory, globs)
        if not names:
            self._say(f"no file to collect: none matches {', '.join(globs)}")
        for number, name in enumerate(names[: MOST_FILES + 1]):
            if self._is_cut():
                return
            is_one_more = number == MOST_FILES
            problem = f"more than {MOST_FILES} files match" if is_one_more else ""
            self._send_file(directory, name, problem)

    def _send_file(self, directory: str, name: str, problem: str) -> None:
        """A problem with the file takes the place of its hash."""
        shown = name.encode("utf-8", "backslashreplace").decode("utf-8")
        self._outbox.add({"type": "file", "name": shown})
        digest = ""
        if not problem and shown != name:
            problem = "its name is not UTF-8"
        if not problem:
            try:
                digest = self._send_content(os.path.join(directory, name))
            except OSError as error:
                problem = str(error.strerror)
            except _TooLarge:
                problem = "it would exceed the limit"
        self._outbox.add({"type": "file_end", "sha256": digest, "problem": problem})

    def _send_content(self, path: str) -> str:
        """Returns the hash."""
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            about = os.fstat(opened)
            if not stat.S_ISREG(about.st_mode):
                raise OSError(0, "it is not a regular file")
            if about.st_size > self._room:
                raise _TooLarge
            return self._send_pieces(opened)
        finally:
            os.close(opened)

    def _send_pieces(self, opened: int) -> str:
        digest = sha256()
        while not self._is_cut():
            data = os.read(opened, PIECE)
            if not data:
                return digest.hexdigest()
            self._room -= len(data)
            if self._room < 0:  # somebody is still writing
                raise _TooLarge
            digest.update(data)
            self._outbox.add_frame(wire.encode_part(data))
            self._loop.run_until(lambda: self._outbox.waiting < WINDOW or self._is_cut())
        raise OSError(0, "the run was ended during the transfer")


class _TooLarge(Exception):
    pass


def found(directory: str, globs: Sequence[str]) -> list[str]:
    """The names of all regular files that match, in order, each once."""
    names: set[str] = set()
    for glob in globs:
        parts = [part for part in glob.split("/") if part not in ("", ".")]
        if glob.endswith("/") or parts[-1:] == ["**"]:
            parts = [*parts, "**", "*"]
        names.update(_matches(directory, "", parts))
    return sorted(names)


def _matches(directory: str, before: str, parts: Sequence[str]) -> Iterator[str]:
    head, rest = parts[0], parts[1:]
    if head == "**":
        yield from _matches(directory, before, rest)
    for entry in _entries(os.path.join(directory, before)):
        name = before + entry.name
        if head == "**":
            if _is_dir(entry) and not entry.name.startswith("."):
                yield from _matches(directory, f"{name}/", parts)
        elif _fits(entry.name, head):
            if rest and _is_dir(entry):
                yield from _matches(directory, f"{name}/", rest)
            elif not rest and entry.is_file(follow_symlinks=False):
                yield name


def _entries(directory: str) -> list[Any]:
    try:
        with os.scandir(directory) as entries:
            return list(entries)
    except OSError:
        return []  # not a directory that we may read


def _is_dir(entry: Any) -> bool:
    return bool(entry.is_dir(follow_symlinks=False))


def _fits(name: str, glob: str) -> bool:
    """As in a shell, a leading dot must be matched explicitly."""
    return fnmatchcase(name, glob) and (not name.startswith(".") or glob.startswith("."))
