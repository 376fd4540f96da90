"""Where the runs of a user are kept: one directory each, found by the beginning of its id."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import TFMesosError
from ..private_directory import make_private, weakness, weakness_of
from ..text import join_names, suggestion
from .run_files import RunDirectory


class NoSuchRun(TFMesosError):
    """No run, or more than one, has this id."""

    exit_code = 2


class Unreadable(TFMesosError):
    exit_code = 74  # EX_IOERR


class Unsafe(TFMesosError):
    """Somebody else could have put runs there."""

    exit_code = 77  # EX_NOPERM


def runs_root(environ: Mapping[str, str]) -> Path:
    """The directory of all runs: below the user's state directory, as XDG defines it."""
    state = environ.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):
        state = os.path.expanduser("~/.local/state")
    return Path(state, "tfmesos", "runs")


def expects_records(environ: Mapping[str, str]) -> bool:
    """Does the user expect records? In a container many users have no directory of their own."""
    return "XDG_STATE_HOME" in environ or os.access(os.path.expanduser("~"), os.W_OK)


class Store:
    def __init__(self, root: Path) -> None:
        self.root = root

    def create(self, new_id: Callable[[], str]) -> RunDirectory:
        """A new directory for a run, under an id that no other run of this user has."""
        make_private(self.root)
        while True:
            run = RunDirectory(self.root / new_id())
            try:
                run.path.mkdir(mode=0o700)
            except FileExistsError:
                continue
            return run

    def check_root(self) -> None:
        """Raises Unsafe."""
        if why := weakness(self.root):
            raise Unsafe(f"the directory of all runs is not safe to use: {why}")

    def all(self) -> list[RunDirectory]:
        """Every run, the newest first."""
        return self.scan()[0]

    def scan(self) -> tuple[list[RunDirectory], dict[str, str]]:
        """Every run, the newest first; and why others are ignored, by their ids.

        Somebody else may have written those, and a rerun would execute what they contain.
        """
        self.check_root()
        try:
            found = {path: _look(path) for path in self.root.iterdir()}
        except (FileNotFoundError, NotADirectoryError):
            return [], {}
        except OSError as error:
            raise Unreadable(f"the runs cannot be read: {self.root}: {error.strerror}") from None
        runs = [RunDirectory(path) for path, why in found.items() if why == ""]
        passed_over = {path.name: why for path, why in found.items() if why}
        return sorted(runs, key=lambda run: run.began, reverse=True), passed_over

    def find(self, prefix: str | None) -> RunDirectory:
        """The run whose id begins with *prefix*; without one, the last."""
        runs, passed_over = self.scan()
        if prefix is None:
            if not runs:
                raise NoSuchRun("there are no runs yet: start one with tfrun -w 2 -- COMMAND")
            return runs[0]
        found = [run for run in runs if run.id == prefix]
        found = found or [run for run in runs if prefix and run.id.startswith(prefix)]
        if prefix in passed_over:
            raise NoSuchRun(f"run {prefix} is ignored: it {passed_over[prefix]}")
        if len(found) != 1:
            raise NoSuchRun(_no_single_run(prefix, [run.id for run in found or runs], bool(found)))
        return found[0]


def _look(path: Path) -> str | None:
    """Why the run in *path* cannot be trusted, or nothing; None if there is no run."""
    try:
        about = (path / "run.json").lstat()
    except PermissionError:
        return weakness_of(path.lstat()) or "cannot be read"
    except OSError:
        return None
    if not stat.S_ISREG(about.st_mode):
        return None
    return "is a link" if path.is_symlink() else weakness_of(path.lstat()) or weakness_of(about)


def _no_single_run(prefix: str, ids: Sequence[str], is_ambiguous: bool) -> str:
    if is_ambiguous:
        return f"several runs have ids that begin with {prefix!r}: {join_names(ids)}"
    near = suggestion(prefix, ids) or (f": the last ones are {join_names(ids)}" if ids else "")
    return f"there is no run {prefix!r}{near}"
