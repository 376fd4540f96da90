"""A row of the table of settings, and the checks of single values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import UnionType
from typing import Any, Protocol

from ..errors import SpecError
from .units import SIZE, TIME, mebibytes, seconds


class Path(Protocol):
    def __fspath__(self) -> str: ...


Text = str | None
File = str | Path | None
Seconds = str | float | None  # a text has a unit
Size = str | float  # in MiB; a text has a unit

UNLIMITED = "unlimited"  # as a number

# What --help and the documentation put under one heading, in their order.
GROUPS = (
    "what to run",
    "resources of each task",
    "where to run it",
    "on Kubernetes",
    "when tasks fail",
    "credentials and TLS",
    "environment of the tasks",
    "files for the tasks",
    "secrets of the tasks",
    "what you see",
    "from Python only",
)
TASKS, RESOURCES, PLACE, ON_KUBERNETES, FAILURES, ACCESS, *_OTHERS = GROUPS
CONTAINER, FILES, SECRETS, SCREEN, PYTHON_ONLY = _OTHERS


class Setting:
    """One row of the table. Its field and type are those of the place where it stands.

    Not a Record, which takes ten times as long to create: each start creates all rows.
    """

    def __init__(
        self,
        help: str,
        flags: tuple[str, ...] = (),  # spellings with _ are those of TFMesos
        group: str = PYTHON_ONLY,
        metavar: str | None = None,
        *,
        variable: str = "",  # of the environment; the flag wins
        default: Any = None,
        default_words: str = "",  # where the default depends on the rest, or has to be explained
        check: Callable[[Any], str] | None = None,  # what is wrong with a value, or nothing
        is_repeatable: bool = False,
        negation: str = "",  # the help of a flag that sets it to False
        implied: str = "",  # the value of a flag without one; it has one only after a =
        field: str = "",
        kind: Any = Text,
        job: str | None = None,  # whose field it is, if not the run's
        engines: tuple[str, ...] = (),  # that it has a meaning for; none: all of them
        deprecated: str = "",  # since when, and the way out: "since 1.1: use --logs"
    ) -> None:
        self.help = f"{help} (deprecated {deprecated})" if deprecated else help
        self.flags = flags
        self.group = group
        self.metavar = metavar
        self.variable = variable
        self.default = default
        self.default_words = default_words
        self.check = check
        self.is_repeatable = is_repeatable
        self.implied = implied
        self.negation = negation
        self.field = field
        self.kind = kind
        self.job = job
        self.engines = engines
        self.deprecated = deprecated

    @property
    def name(self) -> str:
        """What a user of ``tfrun`` calls it."""
        return "/".join(flag for flag in self.flags if "_" not in flag)

    @property
    def type(self) -> str:
        """What a user of Python may give, as a text."""
        kinds = self.kind.__args__ if isinstance(self.kind, UnionType) else (self.kind,)
        names = (str(kind) if "[" in str(kind) else kind.__name__ for kind in kinds)
        text = " | ".join(name for name in names if name != "NoneType")
        return text.replace("collections.abc.", "").replace("Path", "os.PathLike")

    @property
    def default_text(self) -> str:
        """Where the value comes from if it is not given: ``$MESOS_MASTER, else local``."""
        words = self.default_words or _text_of(self.default)
        variable = f"${self.variable}" if self.variable else ""
        return ", else ".join(text for text in (variable, words) if text)

    def choose(self, given: Any, environ: Mapping[str, str]) -> Any:
        """What was given, else the variable, else the default.

        An empty text is as good as none, but that of an unset variable in a script, as in
        ``-m "$MASTER"``, is not to become another value than that of our own variable.
        """
        is_empty = given == "" and (self._is_text or bool(self.variable))
        if given is not None and not is_empty:
            return given
        default = None if is_empty and self.variable else self.default
        found = environ.get(self.variable) or default
        return given if found is None else found

    def read(self, value: Any) -> Any:
        """A time or a size without its unit; all else as it is."""
        amounts = {Seconds: (seconds, TIME), Size: (mebibytes, SIZE)}
        if self.kind not in amounts or not isinstance(value, str):
            return value
        read, right = amounts[self.kind]
        if (found := read(value)) is None:
            raise SpecError(None, self.field, f"must be {right}, got {value!r}")
        return found

    def verify(self, value: Any) -> None:
        if value is not None and (problem := self._problem(value)):
            raise SpecError(None, self.field, problem)

    def _problem(self, value: Any) -> str:
        if self._is_text and not isinstance(value, str):
            return f"must be a string, got {value!r}"
        if self.kind is bool and not isinstance(value, bool):
            return f"must be True or False, got {value!r}"
        return self.check(value) if self.check else ""

    @property
    def _is_text(self) -> bool:
        return self.kind is Text


def _text_of(default: Any) -> str:
    if default is None or default is False:
        return ""
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def above_zero(value: Any) -> str:
    is_good = isinstance(value, (int, float)) and 0 < value < float("inf")
    return "" if is_good else f"must be above 0, got {value!r}"


def not_negative(value: Any) -> str:
    is_good = isinstance(value, (int, float)) and 0 <= value < float("inf")
    return "" if is_good else f"must be a time of 0 or more, got {value!r}"


def from_zero(value: Any) -> str:
    is_good = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return "" if is_good else f"must be a whole number of 0 or more, got {value!r}"


def how_often(value: Any) -> str:
    is_number = isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10
    if value == UNLIMITED or is_number or not from_zero(value):
        return ""
    return f"must be a whole number of 0 or more, or {UNLIMITED}, got {value!r}"


def is_dict(value: Any) -> str:
    return "" if isinstance(value, Mapping) else f"must be a dict, got {value!r}"


class OneOf:
    """A check for one of some words, which shell completion can list."""

    def __init__(self, *words: str) -> None:
        self.words = words

    def __call__(self, value: Any) -> str:
        words = self.words
        listed = " or ".join(words) if len(words) == 2 else f"one of {', '.join(words)}"
        return "" if value in words else f"must be {listed}, got {value!r}"


def containerizer(value: str) -> str:
    return OneOf("MESOS", "DOCKER")(value.upper())


def image_name(value: str) -> str:
    is_bad = any(char.isspace() for char in value) or value.startswith("-")
    return f"must be the name of an image, got {value!r}" if is_bad else ""


def role_name(value: str) -> str:
    """As Mesos wants it: names joined by slashes, or ``*``."""
    parts = value.split("/")
    is_bad = (
        any(part in ("", ".", "..") or part.startswith("-") for part in parts)
        or ("*" in parts and value != "*")
        or any(char.isspace() or char in "\b\x7f" for char in value)
    )
    return f"must be a name without spaces, got {value!r}" if is_bad else ""


class Naming:
    """A check that refuses an empty text: without what it names, something would get lost."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, value: Any) -> str:
        return "" if value != "" else f"must name {self._what}, got ''"


def master_name(value: str) -> str:
    return "" if value else "must name a master, or be local, got ''"


def command_or_url(value: str) -> str:
    """The value is not shown: such a URL is often a secret."""
    if value.isspace() or "\0" in value:
        return "must be a shell command or a URL"
    scheme, is_url, rest = value.partition("://")
    if not is_url or scheme not in ("http", "https"):
        return ""
    host = rest.partition("/")[0]
    is_bad = not host or "@" in host or any(char.isspace() for char in value)
    return "must be http(s)://HOST/... without a password" if is_bad else ""


def principal_name(value: str) -> str:
    is_bad = not value.isprintable() or " " in value or value.startswith("-")
    return f"must be a principal such as user@REALM, got {value!r}" if is_bad else ""
