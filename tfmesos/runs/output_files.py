"""The output of the tasks, unchanged, in files in the user's directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..launcher.observer import Counted, Observer
from .log_lines import last_states, left_out
from .run_files import log_name
from .task_log import append
from .writer import Writer

CLOSE_WITHIN = 10.0  # seconds for the disk to take what is left


class OutputFile:
    """Replaces an existing file."""

    def __init__(self, path: Path, goes_on: bool = False) -> None:
        self._path = path
        self._is_new = not goes_on

    def append(self, data: bytes) -> None:
        if self._is_new:
            self._path.unlink(missing_ok=True)
            self._is_new = False
        append(self._path, data)


class OutputFiles(Observer):
    def __init__(
        self, directory: str, complain: Callable[[str], object], goes_on: bool = False
    ) -> None:
        """OSError if the directory does not exist and cannot be created.

        It *goes on* with the files of an earlier launcher.
        """
        self._goes_on = goes_on
        self._directory = Path(directory)
        self._complain = complain
        self._files: dict[str, OutputFile] = {}
        self._left_out: dict[str, int] = {}  # lines, by task, that the disk was too slow for
        self._directory.mkdir(parents=True, exist_ok=True)
        self._writer = Writer(self._failed)

    def written(
        self, task: str, stream: str, text: str, dropped: int, counted: Counted | None = None
    ) -> None:
        if dropped:
            self._put(task, left_out(dropped, "they came too fast"))
        if text:
            self._put(task, last_states(text))

    def _put(self, task: str, text: str) -> None:
        missing = self._left_out.pop(task, 0)
        note = left_out(missing, "the disk was too slow") if missing else ""
        data = (note + text).encode("utf-8", "backslashreplace")
        if not self._writer.put(self._file(task), data):
            self._left_out[task] = missing + text.count("\n")

    def _file(self, task: str) -> OutputFile:
        if task not in self._files:
            path = self._directory / log_name(task)
            self._files[task] = OutputFile(path, self._goes_on)
        return self._files[task]

    def close(self) -> None:
        if not self._writer.close(CLOSE_WITHIN):
            self._complain(f"not all output is in {self._directory}: the disk is too slow")

    def _failed(self, error: OSError) -> None:
        why = error.strerror or error
        self._complain(f"no more output is written to {self._directory}: {why}")
