"""The directory of a run on this machine: in it each task has a sandbox of its own."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from ...errors import CannotWrite
from ...shared import held_directory

_NAME = re.compile(r"tfmesos-[0-9a-f]{16}")


class ScratchDirectory:
    """Private, created with the first sandbox, and removed at the end."""

    def __init__(self) -> None:
        self._held: int | None = None
        self.path = _place() / f"tfmesos-{os.urandom(8).hex()}"

    def new_sandbox(self, task_id: str) -> Path:
        """A path that no earlier attempt has used; ``make_sandbox`` creates it."""
        readable = re.sub(r"[^A-Za-z0-9_.-]", "-", task_id).lstrip("-_.")[:100]
        return self.path / "sandboxes" / f"{readable or 'task'}-{os.urandom(4).hex()}"

    def make(self) -> None:
        """Create it; raises OSError."""
        while self._held is None:
            self.path.mkdir(mode=0o700)
            self._held = held_directory.hold(str(self.path))  # None if it was removed as abandoned

    def close(self) -> None:
        """Remove it, and what launchers that were killed have left beside it."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._held is not None:
            os.close(self._held)
        remove_abandoned(self.path.parent)


def _place() -> Path:
    """Where it can be: Python tries to write there, and a full disk is a common failure."""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        problem = f"no directory for the sandboxes of the tasks: {error.strerror}"
        raise CannotWrite(f"{problem}; set TMPDIR to one with room") from None


def make_sandbox(sandbox: Path, mode: int = 0o700) -> None:
    """Create it unless it exists; raises OSError."""
    sandbox.mkdir(mode=mode, parents=True, exist_ok=True)
    sandbox.chmod(mode)  # whatever the umask says
    sandbox.parent.chmod(0o700)


def remove_abandoned(place: Path) -> None:
    """Remove the directories of dead launchers of this user."""
    held_directory.sweep(str(place), _NAME.fullmatch)
