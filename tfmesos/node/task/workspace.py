"""The directory of a task: its shipped files, its scratch and its relative writes go there.

It is the sandbox, or the directory in which the engine starts the task, if the task can write
there. Else it is a private one under the first directory for temporary files that takes it; that
one is removed at the end, with all that is in it.
"""

from __future__ import annotations

import os

from ...shared import held_directory, process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from ...shared.process import Ending
    from ...shared.wire import Message
    from ..process.guard import Guard
    from ..runner_settings import Settings

NO_WORKSPACE = 74  # EX_IOERR
TASK_DIR = "TFMESOS_TASK_DIR"  # the variable that names it to the command
SHIP_DIR = "TFMESOS_SHIP_DIR"  # where a task finds the files that were shipped to it
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
_PREFIX = "tfmesos-task-"


class Workspace:
    """Use ``open`` before anything of the task starts, and ``remove`` at its end."""

    def __init__(self, settings: Settings, get_guard: Callable[[], Guard]) -> None:
        self._settings = settings
        self._get_guard = get_guard
        self._private: held_directory.Private | None = None

    def open(self) -> Ending | None:
        """Name it in the settings; if there is none, say what was tried."""
        given = _given()
        refusal = _refusal(given) if self._settings.has_directory else "not its own"
        if not refusal:
            self._settings.env = {**self._settings.env, TASK_DIR: given}
            return None
        tried = [f"{given} ({refusal})"]
        for place in _temporary():
            try:
                self._private = held_directory.Private(place, _PREFIX, self._warn_guard)
            except OSError as error:
                if process.is_limit(error):
                    return process.could_not_start("its guard", error)
                tried.append(f"{place} ({error.strerror})")
            else:
                self._settings.env = {**self._settings.env, TASK_DIR: self._private.path}
                return None
        return NO_WORKSPACE, f"has no directory to write to: tried {', '.join(tried)}"

    def _warn_guard(self, path: str) -> None:
        self._get_guard().remove_later(path)

    @property
    def remark(self) -> dict[str, str]:
        """For the launcher, if it is not the directory that everybody expects."""
        if self._private is None:
            return {}
        return {"directory": os.fsencode(self._private.path).decode("utf-8", "backslashreplace")}

    def remove(self) -> None:
        if self._private is not None:
            self._private.remove()


def of_command(message: Message, env: Mapping[str, str]) -> tuple[str, str]:
    """Where the command runs, and where it should: in a directory that the launcher names.

    A relative one counts from the shipped files. If it cannot be entered, the workspace has to do.
    """
    shipped, cwd = env.get(SHIP_DIR, ""), str(message.get("cwd") or "")
    wanted = os.path.join(shipped, cwd) if cwd else shipped
    if os.path.isdir(wanted) and os.access(wanted, os.X_OK):
        return wanted, wanted
    return env[TASK_DIR], wanted


def _given() -> str:
    """What the engine gave the task."""
    try:
        return os.environ.get("MESOS_SANDBOX") or os.getcwd()
    except OSError:
        return "."  # it was removed


def _refusal(directory: str) -> str:
    """Why the task cannot write there, if it cannot."""
    if not os.path.isdir(directory):
        return "not a directory"
    effective = os.access in os.supports_effective_ids  # else for the user who started the program
    may = os.access(directory, os.W_OK | os.X_OK, effective_ids=effective)
    return "" if may else "not writable"


def _temporary() -> Iterator[str]:
    ours = os.environ.get("TMPDIR", "")
    if ours.startswith("/"):
        yield ours
    yield from (place for place in _TEMPORARY if place != ours)
