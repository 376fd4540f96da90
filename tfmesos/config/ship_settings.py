"""The rows of the table of settings about files that are sent to the tasks."""

from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from ..record import Record
from .setting import FILES, Path, Setting, Size, above_zero


def names_directory(value: Any) -> str:
    if isinstance(value, bool) or (value and hasattr(value, "__fspath__")):
        return ""
    is_good = isinstance(value, str) and value
    return "" if is_good else f"must name a directory, or have no value, got {value!r}"


class ShipSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    ship: Annotated[
        str | Path | bool | None,
        Setting(
            "send this directory, or the current one, to every task and run the command in the "
            "copy; .gitignore and .tfignore exclude files. A .py, zip or tar file, given as a "
            "path or an http(s) URL, is sent unpacked",
            ("--ship",),
            FILES,
            "[=DIR]",
            implied=".",
            check=names_directory,
        ),
    ]
    ship_files: Annotated[
        Iterable[str] | None,
        Setting(
            "also send this file, under its own name or as NAME",
            ("--ship-file",),
            FILES,
            "LOCAL[:NAME]",
            default=(),
            is_repeatable=True,
        ),
    ]
    ship_limit: Annotated[
        Size,
        Setting(
            "maximum packed size of the shipped files (MiB, or with a unit, as in 2G)",
            ("--ship-limit",),
            FILES,
            "SIZE",
            default=200,
            check=above_zero,
        ),
    ]

    bring: Annotated[
        Iterable[str] | None,
        Setting(
            "when the command of a task has ended, successfully or not, collect the files in its "
            "directory that match GLOB into the record of the run; ** matches any number of "
            "directories",
            ("--bring",),
            FILES,
            "GLOB",
            default=(),
            is_repeatable=True,
        ),
    ]
    bring_limit: Annotated[
        Size,
        Setting(
            "maximum size of the files collected from each task (MiB, or with a unit, as in 2G)",
            ("--bring-limit",),
            FILES,
            "SIZE",
            default=1024,
            check=above_zero,
        ),
    ]


class Ship(Record):
    """The files that each task receives before its command starts."""

    directory: str | None  # of which all is sent that is not left out
    files: tuple[tuple[str, str], ...] = ()  # single ones beside it: where each is, and its name
    limit: int = 0  # bytes, packed
    address: str | None = None  # of a .py, zip or tar that is fetched in place of a directory

    @property
    def addresses(self) -> list[str]:
        """All that has to be fetched."""
        code = [self.address] if self.address else []
        return [*code, *(place for place, _ in self.files if "://" in place)]


def parse_ship_file(text: Any) -> tuple[str, str]:
    """``LOCAL[:NAME]`` as both, whether or not it has a name of its own."""
    if not isinstance(text, str):
        raise SpecError(None, "ship_files", f"must be LOCAL or LOCAL:NAME, got {text!r}")
    local, colon, name = text.rpartition(":")
    if not colon:
        local, name = text, text.rpartition("/")[2]
    if not local or {"", ".", ".."}.intersection(name.split("/")):
        problem = (
            f"must be LOCAL or LOCAL:NAME with a NAME in the directory of the task, got {text!r}"
        )
        raise SpecError(None, "ship_files", problem)
    return local, name


def parse_ship_files(given: Any) -> tuple[tuple[str, str], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(None, "ship_files", f"must be a list of LOCAL[:NAME], got {given!r}")
    files = tuple(map(parse_ship_file, given))
    names = [name for _, name in files]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(None, "ship_files", f"gives two files the name {name!r}")
    return files


def parse_bring(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise SpecError(None, "bring", f"must be a list of globs, got {given!r}")
    return tuple(map(_parse_glob, given))


def _parse_glob(glob: Any) -> str:
    if not isinstance(glob, str) or not glob or glob.startswith("/") or ".." in glob.split("/"):
        problem = f"must be a glob in the directory of the task, such as *.h5, got {glob!r}"
        raise SpecError(None, "bring", problem)
    return glob
