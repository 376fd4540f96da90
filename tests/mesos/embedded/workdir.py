"""Where the sandboxes of an embedded Mesos are: in a given directory, or one of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from tfmesos.engines.local.scratch_directory import remove_abandoned
from tfmesos.private_directory import make_private
from tfmesos.shared import held_directory


class WorkDir:
    """A given directory is kept; without one a private one is made, and removed in the end."""

    def __init__(self, given: Path | None) -> None:
        """Raises OSError if what is given is not supported."""
        self.is_temporary = given is None
        self._held: int | None = None
        if given is None:
            # Is made with the first sandbox: there is nothing to leave before.
            self.path = Path(tempfile.gettempdir()) / f"tfmesos-{os.urandom(8).hex()}"
        else:
            self.path = given.absolute()
            self.make()

    def make(self) -> None:
        """Have it; raises OSError."""
        if not self.is_temporary:
            make_private(self.path)
        while self.is_temporary and self._held is None:
            self.path.mkdir(mode=0o700)
            self._held = held_directory.hold(str(self.path))  # None if it was removed as abandoned

    def close(self) -> None:
        """Remove it, and what launchers that were killed have left beside it."""
        if self.is_temporary:
            shutil.rmtree(self.path, ignore_errors=True)
            if self._held is not None:
                os.close(self._held)
            remove_abandoned(self.path.parent)
