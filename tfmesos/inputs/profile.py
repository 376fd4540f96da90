"""A profile: settings that a user keeps in a file, for every call or for those that name it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from ..config.settings import DOCUMENT_KEYS, SETTINGS
from ..errors import CannotRead, SpecError, TFMesosError
from ..jobfiles.native import changed
from ..jobfiles.reading import MAX_BYTES, Tree, read
from ..jobfiles.translation import Document, Key
from ..plain_file import beginning
from ..private_directory import weakness
from ..text import join_names, suggestion

_DEFAULTS: Key = ("defaults",)
_PROFILES = "profiles"
_OF_JOB_FILES = ("jobs", "cmd", "command")
(_NAME,) = (setting for setting in SETTINGS if setting.field == "profile")


class Unsafe(TFMesosError):
    """Somebody else could have written the file, which decides what is executed."""

    exit_code = 77  # EX_NOPERM


class Profile:
    """What the file says for one call: a profile wins over the environment, and that over the
    [defaults] of the file.
    """

    def __init__(self, tree: Tree, name: str | None, environ: Mapping[str, str]) -> None:
        """SpecError if there is no profile of this name."""
        self.name = name
        self._tree = tree
        usual: Document = tree.value.get("defaults", {})
        profiles: dict[str, Document] = tree.value.get(_PROFILES, {})
        if name and name not in profiles:
            named_by = f" (${_NAME.variable})" if environ.get(_NAME.variable) == name else ""
            there = _unknown(name, tree.name, profiles)
            raise SpecError(None, _NAME.field, f"names {name!r}{named_by}, but {there}")
        set_outside = {one.field for one in SETTINGS if environ.get(one.variable)}
        self.defaults = {key: value for key, value in usual.items() if key not in set_outside}
        self.chosen = profiles[name] if name else {}

    def under(self, given: Mapping[str, Any]) -> Document:
        """What is *given*, merged with what the file says."""
        file = changed({**self.defaults, "jobs": {}}, self.chosen)
        found = changed(file, dict(given))
        kept = {field: value for field, value in found.items() if field != _NAME.field}
        return kept if "jobs" in given else {k: v for k, v in kept.items() if k != "jobs"}

    def place_of(self, key: Key) -> str:
        """Where the file sets it: in the profile, if in both."""
        places = (self._tree.locate(place, "").place for place in self._keys(key))
        return next(places, "")

    def located(self, error: SpecError) -> SpecError:
        """The error with file and line, if the file is to blame."""
        for key in self._keys((error.field,)):
            found = self._tree.locate(key, error.problem)
            found.exit_code = error.exit_code
            return found
        return error

    def _keys(self, key: Key) -> Iterator[Key]:
        if _has(self.chosen, key):
            yield (_PROFILES, str(self.name), *key)
        if _has(self.defaults, key):
            yield (*_DEFAULTS, *key)


def profile_of(given: Mapping[str, Any], environ: Mapping[str, str]) -> Profile:
    """The profile of a call; only its name is taken from what is *given*."""
    name = _NAME.choose(given.get(_NAME.field), environ) or None
    _NAME.verify(name)
    return Profile(_read(config_file(environ)), name, environ)


def profile_names(environ: Mapping[str, str]) -> list[str]:
    return list(_read(config_file(environ)).value.get(_PROFILES, {}))


def config_file(environ: Mapping[str, str]) -> str:
    """In the user's configuration directory, as XDG defines it."""
    directory = environ.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(directory):
        directory = os.path.expanduser("~/.config")
    return os.path.join(directory, "tfmesos", "config.toml")


def _read(path: str) -> Tree:
    """Checked except for its values; empty without a file."""
    try:
        content = beginning(path, MAX_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return Tree(path, {}, {})
    except OSError as error:
        raise CannotRead(f"the profiles cannot be read: {path}: {error.strerror}") from None
    if why := weakness(path):
        raise Unsafe(f"the profiles are not read: {why}")
    tree = read(content, path)
    for key, problem in _problems(tree.value):
        raise tree.locate(key, problem)
    return tree


def _problems(value: Document) -> Iterator[tuple[Key, str]]:
    for name, section in value.items():
        if name not in ("defaults", _PROFILES):
            yield (name,), _misplaced(name)
        elif not isinstance(section, dict):
            yield (name,), f"must be a table, as in [{name}...], got {section!r}"
    yield from _problems_of_keys(_DEFAULTS, value.get("defaults", {}))
    for name, profile in value.get(_PROFILES, {}).items():
        if isinstance(profile, dict):
            yield from _problems_of_keys((_PROFILES, name), profile)
        else:
            yield (_PROFILES, name), f"must be a table, as in [profiles.{name}], got {profile!r}"


def _problems_of_keys(around: Key, section: Document) -> Iterator[tuple[Key, str]]:
    for name in section:
        if name in _OF_JOB_FILES:
            yield (*around, name), "belongs in a job file: a profile has settings only"
        elif name not in DOCUMENT_KEYS:
            yield (*around, name), f"is not a setting{suggestion(name, DOCUMENT_KEYS)}"


def _misplaced(name: str) -> str:
    if name in DOCUMENT_KEYS:
        return "must be under [defaults] or [profiles.NAME]"
    known = ("defaults", _PROFILES)
    return f"is not valid here: use [defaults] or [profiles.NAME]{suggestion(name, known)}"


def _unknown(name: str, path: str, profiles: Mapping[str, Any]) -> str:
    there = f"has {join_names(list(profiles))}" if profiles else "has no profile"
    if not os.path.exists(path):
        there = "does not exist"
    return f"{path} {there}{suggestion(name, profiles)}"


def _has(document: Document, key: Key) -> bool:
    value: Any = document
    for part in key:
        if not isinstance(value, dict) or part not in value:
            return False
        value = value[part]
    return True
