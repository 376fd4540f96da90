"""The secrets of a task: in files that only its user can read, and that are removed when it ends.

They are in memory (tmpfs) if the node has a writable one, else in the sandbox. A lock shows whether
their runner is alive: secrets without a lock are removed by whoever finds them, because the runner
and its guard may be killed together.
"""

from __future__ import annotations

import binascii
import os

from ...shared import held_directory, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

    from ...shared.process import Ending

CANNOT_WRITE = 74  # EX_IOERR
DIRECTORY = "TFMESOS_SECRETS_DIR"  # the variable
MEMORY = "/dev/shm"
_PREFIX = "tfmesos-secrets-"


class Secrets:
    """Use ``keep`` before anything of the task starts, and ``remove`` at its end."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._private: held_directory.Private | None = None

    def keep(self, sandbox: str, warn_guard: Callable[[str], None]) -> Ending | None:
        """Write the files; returns why that failed, if it did.

        *warn_guard* learns each path before.
        """
        problem = ""
        for place in _places(sandbox) if self._told else ():
            try:
                self._write(place, warn_guard)
            except OSError as error:
                self.remove()
                if process.is_limit(error):
                    return process.could_not_start("its guard", error)
                problem = f"could not store its secrets in {place}: {error.strerror}"
            else:
                return None
        return (CANNOT_WRITE, problem) if problem else None

    def _write(self, place: str, warn_guard: Callable[[str], None]) -> None:
        self._private = held_directory.Private(place, _PREFIX, warn_guard)
        for name, content in self._told["files"].items():
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            file = os.open(os.path.join(self.directory, name), flags, 0o600)
            with os.fdopen(file, "wb") as writer:
                writer.write(binascii.a2b_base64(content))

    @property
    def directory(self) -> str:
        """Empty if there are none."""
        return "" if self._private is None else self._private.path

    @property
    def environment(self) -> dict[str, str]:
        """The variables of everything that the task starts."""
        if not self.directory:
            return {}
        paths = self._told["paths"].items()
        found = {name: os.path.join(self.directory, file) for name, file in paths}
        return {DIRECTORY: self.directory, **found}

    @property
    def of_command(self) -> dict[str, str]:
        """The variables of the command alone."""
        return dict(self._told["env"]) if self._told else {}

    @property
    def principal(self) -> str:
        """The Kerberos principal, if the task needs a ticket."""
        return str(self._told.get("principal") or "")

    def remove(self) -> None:
        if self._private is not None:
            self._private.remove()
        self._private = None


def _places(sandbox: str) -> Iterator[str]:
    """Where secrets may be, the best place first."""
    if _is_memory(MEMORY) and os.access(MEMORY, os.W_OK | os.X_OK):
        yield MEMORY
    yield sandbox


def _is_memory(place: str) -> bool:
    try:
        with open("/proc/mounts") as file:
            return any(line.split()[1:3] == [place, "tmpfs"] for line in file)
    except OSError:
        return False
