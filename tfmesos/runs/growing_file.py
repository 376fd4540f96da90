"""Reads a file of lines that grows and may be replaced by a shorter one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


class GrowingFile:
    """Continues where the last read ended; from the beginning if the file was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: tuple[int, int] | None = None
        self._offset = 0

    def new_lines(self) -> Iterator[bytes]:
        """Whole lines; none while there is no file."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            status = os.fstat(file.fileno())
            if self._file != (found := (status.st_dev, status.st_ino)):
                self._file = found
                self._offset = 0
            file.seek(self._offset)
            for line in file:
                if not line.endswith(b"\n"):
                    return  # is being written
                self._offset += len(line)
                yield line
