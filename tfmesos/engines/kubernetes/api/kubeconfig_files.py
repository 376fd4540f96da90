"""The files of a kubeconfig, merged: the first file that sets a value wins."""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Mapping

import yaml

from ....errors import SpecError, UnreadableFile
from ....json_types import Json
from ....plain_file import beginning
from ....text import suggestion

MAX_FILE = 16 * 1024 * 1024  # bytes
_PARTS = {"contexts": "context", "clusters": "cluster", "users": "user"}


def wrong(problem: str) -> SpecError:
    return SpecError(None, "master", problem)


class Entry:
    """The values of one entry; errors name its *place*, and paths count from its *folder*."""

    def __init__(self, values: Json, place: str, folder: str) -> None:
        self.values = values
        self.place = place
        self._folder = folder

    def text(self, name: str) -> str:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise wrong(f"needs a string as {name} in {self.place}")
        return value or ""

    def part(self, name: str) -> Entry:
        value = self.values[name]
        place = f"{name} of {self.place}"
        if not isinstance(value, dict):
            raise wrong(f"needs keys and values as {place}")
        return Entry(value, place, self._folder)

    def refuse(self, name: str, why: str) -> None:
        if self.values.get(name):
            raise wrong(f"cannot use {name} of {self.place}: {why}")

    def path_of(self, name: str) -> str:
        path = self.text(name)
        return os.path.join(self._folder, path) if path else ""

    def content(self, name: str) -> str:
        """The PEM text in NAME-data, or in the file that NAME names; "" if there is neither."""
        if data := self.text(f"{name}-data"):
            try:
                return base64.b64decode(data, validate=True).decode()
            except (binascii.Error, ValueError):
                raise wrong(f"needs base64 as {name}-data in {self.place}") from None
        path = self.path_of(name)
        return _read(path, f"the {name} of {self.place}") if path else ""


class Kubeconfig:
    """All files together."""

    def __init__(self, path: str) -> None:
        self.path = path  # or several, as given
        self.current = ""
        self._entries: dict[str, dict[str, Entry]] = {kind: {} for kind in _PARTS}

    def names(self, kind: str) -> set[str]:
        return set(self._entries[kind])

    def entry(self, kind: str, name: str) -> Entry:
        return self._entries[kind][name]

    def named(self, kind: str, context: Entry, field: str) -> Entry:
        """The cluster or the user that a context names."""
        name = context.text(field)
        if name in self._entries[kind]:
            return self._entries[kind][name]
        near = suggestion(name, self._entries[kind])
        missing = f"the {field} {name!r}" if name else f"a {field}"
        raise wrong(f"needs {missing} of {context.place}, which {self.path} does not have{near}")

    def add(self, path: str) -> None:
        document = _document(path)
        current = document.get("current-context")
        self.current = self.current or (current if isinstance(current, str) else "")
        for kind, part in _PARTS.items():
            for name, values in _named(document, kind, part, path):
                place = f"{part} {name!r} in {path}"
                entry = Entry(values, place, os.path.dirname(os.path.abspath(path)))
                self._entries[kind].setdefault(name, entry)


def read_kubeconfig(environ: Mapping[str, str]) -> Kubeconfig | None:
    """Those that KUBECONFIG lists, or ~/.kube/config; None if none of them exists."""
    given = environ.get("KUBECONFIG", "")
    home = environ.get("HOME") or os.path.expanduser("~")
    paths = [path for path in given.split(":") if path] or [f"{home}/.kube/config"]
    existing = [path for path in paths if os.path.lexists(path)]
    if not existing:
        return None
    config = Kubeconfig(":".join(existing))
    for path in existing:
        config.add(path)
    return config


def _named(document: Json, kind: str, part: str, path: str) -> list[tuple[str, Json]]:
    found = []
    entries = document.get(kind) or []
    for entry in entries if isinstance(entries, list) else [None]:
        name = entry.get("name") if isinstance(entry, dict) else None
        values = entry.get(part) or {} if isinstance(entry, dict) else None
        if not isinstance(name, str) or not isinstance(values, dict):
            raise wrong(f"needs {kind} with a name and a {part} each in {path}")
        found.append((name, values))
    return found


def _document(path: str) -> Json:
    text = _read(path, "a kubeconfig")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        document = yaml.load(text, loader) or {}
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" (line {mark.line + 1})" if mark else ""
        raise wrong(f"needs a kubeconfig, and {path} is not valid YAML{line}") from None
    if not isinstance(document, dict):
        raise wrong(f"needs a kubeconfig, and {path} is not one: it has no keys")
    return document


def _read(path: str, what: str) -> str:
    try:
        data = beginning(path, MAX_FILE + 1)
        text = data.decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        problem = f"needs {what}, and {path} cannot be read: {reason}"
        raise UnreadableFile(None, "master", problem) from None
    if len(data) > MAX_FILE:
        raise wrong(f"needs {what}, and {path} has more than {MAX_FILE} bytes")
    return text
