"""Files collected from tasks, each checked before it gets its name in the run directory."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ...core.outcome import Outcome
from ...errors import FrameError, TFMesosError
from ...private_directory import make_private
from ...shared import wire
from ...text import count, join_names, size_text

KINDS = frozenset(["file", "part", "file_end"])
LONGEST_NAME = 4096  # bytes
MOST_FILES = 10001  # of a task; the runner stops before


class NotBrought(TFMesosError):
    """Files that should have been collected were not."""

    exit_code = 74  # EX_IOERR


class Incoming:
    """One file in transit: under a temporary name until it is complete."""

    def __init__(self, name: str, place: Path, coming: Path) -> None:
        import hashlib  # is rarely needed, and imports all of OpenSSL

        self.name = name
        self._place = place
        self._coming = coming
        self.problem = ""
        self.size = 0
        self._hash = hashlib.sha256()
        self._file = -1
        self._lock = threading.RLock()  # the disk is written to by other threads

    def write(self, data: bytes) -> None:
        with self._lock:
            try:
                self._write(data)
            except OSError as error:
                self.drop(str(error.strerror))

    def _write(self, data: bytes) -> None:
        if self.problem:
            return
        if self._file < 0:
            self._open()
        self._hash.update(data)
        self.size += len(data)
        while data:
            data = data[os.write(self._file, data) :]

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        make_private(self._coming.parent)
        self._file = os.open(self._coming, flags, 0o600)

    def keep(self, digest: str) -> None:
        """The file is complete, if this is its hash."""
        self.write(b"")
        with self._lock:
            if self._hash.hexdigest() != digest:
                self.drop("it was damaged in transit")
            if not self.problem:
                self._name_it()

    def _name_it(self) -> None:
        try:
            os.fsync(self._file)
            make_private(self._place.parent)
            self._coming.replace(self._place)
        except OSError as error:
            self.drop(str(error.strerror))
        else:
            self._close()

    def drop(self, problem: str) -> None:
        with self._lock:
            self.problem = self.problem or problem
            if self._file >= 0:
                self._close()
                self._coming.unlink(missing_ok=True)

    def _close(self) -> None:
        os.close(self._file)
        self._file = -1


class Brought:
    """*limit* is the maximum number of bytes for a task; *name_of* returns its name."""

    def __init__(self, directory: Path | None, limit: int, name_of: Callable[[str], str]) -> None:
        self._directory = directory
        self._limit = limit
        self._name_of = name_of
        self._incoming: dict[str, Incoming] = {}  # by task id
        self._taken: Counter[str] = Counter()  # bytes, by task id
        self._files: Counter[str] = Counter()
        self._kept: dict[str, dict[str, int]] = {}  # by task, the sizes of its files
        self._problems: dict[tuple[str, str], str] = {}  # by task and file
        self._is_news = False

    @property
    def is_busy(self) -> bool:
        """Is a file in transit, or has one arrived since the last call?"""
        is_news = self._is_news
        self._is_news = False
        return is_news or bool(self._incoming)

    async def take(self, task_id: str, message: wire.Message) -> None:
        if self._directory is None:
            raise FrameError("it sends files that nobody asked for")
        self._is_news = True
        if message["type"] == "file":
            self._begin(task_id, self._directory, wire.field(message, "name", str))
            return
        incoming = self._incoming.get(task_id)
        if incoming is None:
            raise FrameError("a piece without a file")
        if message["type"] == "part":
            await self._take_part(task_id, incoming, wire.field(message, "data", bytes))
        else:
            await self._end(task_id, incoming, message)

    def _begin(self, task_id: str, directory: Path, name: str) -> None:
        self._files[task_id] += 1
        if not is_safe(name) or self._files[task_id] > MOST_FILES or task_id in self._incoming:
            raise FrameError("a file that is impossible")
        task = self._name_of(task_id).replace(":", "-")
        place = directory / task / name
        self._incoming[task_id] = Incoming(name, place, directory / f".coming-{task}")

    async def _take_part(self, task_id: str, incoming: Incoming, data: bytes) -> None:
        self._taken[task_id] += len(data)
        if self._taken[task_id] > self._limit:
            incoming.drop("it would exceed the limit")
        await asyncio.to_thread(incoming.write, data)

    async def _end(self, task_id: str, incoming: Incoming, message: wire.Message) -> None:
        if problem := wire.field(message, "problem", str):
            incoming.drop(problem[:300])
        else:
            await asyncio.to_thread(incoming.keep, wire.field(message, "sha256", str))
        self._incoming.pop(task_id, None)
        self._note(task_id, incoming)

    def _note(self, task_id: str, incoming: Incoming) -> None:
        """Files of a later attempt of the task make up for those that this one failed to send."""
        task, name = self._name_of(task_id), incoming.name
        if incoming.problem:
            self._problems[task, name] = incoming.problem
        else:
            self._problems.pop((task, name), None)
            self._kept.setdefault(task, {})[name] = incoming.size

    def gone(self, task_id: str) -> None:
        """Its runner will send nothing more."""
        if incoming := self._incoming.pop(task_id, None):
            incoming.drop("its task was lost during the transfer")
            self._note(task_id, incoming)

    def close(self) -> None:
        for task_id in list(self._incoming):
            self.gone(task_id)

    def settle(self, outcome: Outcome, say: Callable[[str, str], object]) -> Outcome:
        """Report what was collected; a successful run fails if something is missing."""
        self.close()
        if said := self.summary():
            say(said, "notice")
        error = self.error()
        if error is not None and not outcome.ok:
            say(str(error), "warning")
        return outcome.replace(error=error) if outcome.ok and error else outcome

    def summary(self) -> str:
        """Empty if nothing was collected."""
        files = sum(map(len, self._kept.values()))
        if not files:
            return ""
        size = size_text(sum(sum(sizes.values()) for sizes in self._kept.values()))
        names = join_names(list(self._kept))
        return f"{count(files, 'file')} ({size}) of {names} in {self._directory}"

    def error(self) -> NotBrought | None:
        if not self._problems:
            return None
        texts = [f"{task}: {name}: {why}" for (task, name), why in self._problems.items()]
        return NotBrought(f"not collected: {join_names(texts, 3)}")


def is_safe(name: str) -> bool:
    """Does it lead to a file inside its target directory, whatever that contains?"""
    parts = name.split("/")
    return (
        not {"", ".", ".."}.intersection(parts)
        and "\0" not in name
        and len(name.encode("utf-8", "replace")) <= LONGEST_NAME
    )
