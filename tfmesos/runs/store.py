"""Where the runs of a user are kept: one directory each, found by the beginning of its id."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import TFMesosError
from ..text import some, suggestion
from .directory import RunDirectory


class NoSuchRun(TFMesosError):
    """No run, or more than one, goes by this id."""

    exit_code = 2


class Unreadable(TFMesosError):
    exit_code = 74  # EX_IOERR


def place(environ: Mapping[str, str]) -> Path:
    """The directory of all runs: below the user's state directory, as XDG names it."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.expanduser("~/.local/state")
    return Path(state, "tfmesos", "runs")


def has_place(environ: Mapping[str, str]) -> bool:
    """Does the user expect records? In a container many users have no directory of their own."""
    return "XDG_STATE_HOME" in environ or os.access(os.path.expanduser("~"), os.W_OK)


class Store:
    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, new_id: Callable[[], str]) -> RunDirectory:
        """A new directory for a run, under an id that no other run of this user has."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        while True:
            run = RunDirectory(self.root / new_id())
            try:
                run.path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return run

    def all(self) -> list[RunDirectory]:
        """Every run, the newest first."""
        try:
            paths = [path for path in self.root.iterdir() if _is_run(path)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise Unreadable(f"the runs cannot be read: {self.root}: {error.strerror}") from None
        runs = [RunDirectory(path) for path in paths]
        return sorted(runs, key=lambda run: run.began, reverse=True)

    def find(self, prefix: str | None) -> RunDirectory:
        """The run whose id begins so; without one, the last."""
        runs = self.all()
        if prefix is None:
            if not runs:
                raise NoSuchRun("there is no run yet: start one with tfrun -w 2 -- COMMAND")
            return runs[0]
        found = [run for run in runs if run.id == prefix]
        found = found or [run for run in runs if prefix and run.id.startswith(prefix)]
        if not found:
            self._check_owner(prefix)
        if len(found) != 1:
            raise NoSuchRun(_no_single_run(prefix, [run.id for run in found or runs], bool(found)))
        return found[0]

    def _check_owner(self, name: str) -> None:
        """Where users share a state directory, each may look at their own runs only."""
        try:
            owner = (self.root / name).lstat().st_uid if name.isalnum() else os.geteuid()
        except OSError:
            return
        if owner != os.geteuid():
            raise NoSuchRun(f"run {name} is one of another user ({_user_name(owner)})")


def _is_run(path: Path) -> bool:
    try:
        return (path / "run.json").is_file()
    except PermissionError:
        return False  # of another user


def _user_name(number: int) -> str:
    import pwd  # only this mistake needs it

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def _no_single_run(prefix: str, ids: Sequence[str], is_ambiguous: bool) -> str:
    if is_ambiguous:
        return f"{prefix!r} is the beginning of several runs: {some(ids)}"
    near = suggestion(prefix, ids) or (f": the last ones are {some(ids)}" if ids else "")
    return f"there is no run {prefix!r}{near}"
