"""Reads secrets from the files and environment variables that the settings name.

A command line can be read by everybody on the machine, so it never holds them. No error shows
what was given for a file that does not exist: it may be the secret itself.
"""

from __future__ import annotations

import binascii
import os
import re
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from ..config.exec_limits import large_environment
from ..config.secret import Secret, TaskSecrets
from ..errors import SpecError, UnreadableFile
from ..node.task import kerberos
from ..plain_file import beginning
from ..record import Record
from .named_file import content_of

LONGEST = 64 * 1024  # bytes of one secret
LARGEST = 1024 * 1024  # bytes of all
_FROM_ENVIRONMENT = "env:"
_GCS_KEY = "gcs-key.json"
_NAMES = {"keytab": kerberos.KEYTAB, "krb5_conf": kerberos.CONFIG, "gcs_key": _GCS_KEY}
_PATHS = (
    ("keytab", "KRB5CCNAME", kerberos.CACHE),
    ("krb5_conf", "KRB5_CONFIG", kerberos.CONFIG),
    ("gcs_key", "GOOGLE_APPLICATION_CREDENTIALS", _GCS_KEY),
)
_KEPT = {kerberos.CACHE, kerberos.CACHE + ".new", *_NAMES.values()}  # for files of ours
_FILE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.A)
_NO_VALUE = "give NAME=FILE or NAME=env:VARIABLE, never the secret itself"


class _Wanted(Record):
    """A secret to be read: for which setting, under which name, and from where."""

    field: str
    name: str
    source: str

    @property
    def words(self) -> str:
        """What an error says before the problem."""
        return f"{self.name} " if self.field in ("secrets", "secret_env") else ""


def read_secrets(given: Mapping[str, Any]) -> tuple[TaskSecrets, tuple[str, ...]]:
    """All secrets that the settings name, and warnings; SpecError if one is wrong."""
    files, variables = list(_files(given)), list(_pairs("secret_env", given, _VARIABLE))
    contents = {wanted: _content(wanted) for wanted in (*files, *variables)}
    _check_sizes(contents)
    _check_kerberos(given)
    secrets = TaskSecrets(
        files={w.name: Secret(_base64(contents[w])) for w in files},
        variables={w.name: Secret(_text(w, contents[w])) for w in variables},
        paths=dict(pair for field, *pair in _PATHS if given[field]),
        principal=given["krb5_principal"] or "",
        given_by=next((wanted.field for wanted in contents), ""),
    )
    return secrets, tuple(_warnings(contents))


def variables_of(given: Mapping[str, Any]) -> list[str]:
    """The variables of our own environment that hold secrets."""
    sources = [*(given["secrets"] or {}).values(), *(given["secret_env"] or {}).values()]
    texts = map(str, sources)
    return [text[len(_FROM_ENVIRONMENT) :] for text in texts if text.startswith(_FROM_ENVIRONMENT)]


def read_line(field: str, path: str | None) -> Secret | None:
    """A secret that is one line of text: a password, a token."""
    if path is None:
        return None
    content = content_of(field, path, LONGEST + 1)
    if len(content) > LONGEST:
        raise SpecError(None, field, f"is longer than {LONGEST} bytes: {path}")
    secret = content.decode(errors="replace").strip()
    if not secret:
        raise SpecError(None, field, f"is empty: {path}")
    if "\ufffd" in secret or not secret.isprintable():
        raise SpecError(None, field, f"must contain one line of text: {path}")
    return Secret(secret)


def _files(given: Mapping[str, Any]) -> Iterator[_Wanted]:
    """The secrets of every setting that names a file."""
    for wanted in _pairs("secrets", given, _FILE_NAME):
        if wanted.name in _KEPT:
            raise SpecError(
                None, "secrets", f"cannot be called {wanted.name!r}: that name is reserved"
            )
        yield wanted
    for field, name in _NAMES.items():
        if given[field]:
            yield _Wanted(field, name, os.fspath(given[field]))


def _check_kerberos(given: Mapping[str, Any]) -> None:
    if given["keytab"] and not given["krb5_principal"]:
        raise SpecError(None, "keytab", "needs a principal, too: user@REALM")
    for field in ("krb5_principal", "krb5_conf"):
        if given[field] and not given["keytab"]:
            raise SpecError(None, field, "needs a keytab, too")


def _pairs(field: str, given: Mapping[str, Any], names: re.Pattern[str]) -> Iterator[_Wanted]:
    kind = "a file" if names is _FILE_NAME else "a variable"
    for name, source in (given[field] or {}).items():
        if not isinstance(name, str) or not names.fullmatch(name):
            raise SpecError(None, field, f"needs the name of {kind} before =, got {name!r}")
        if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
            raise SpecError(None, field, f"{name} needs a source: {_NO_VALUE}")
        yield _Wanted(field, name, os.fspath(source))


def _content(wanted: _Wanted) -> bytes:
    if wanted.source.startswith(_FROM_ENVIRONMENT):
        content = _variable(wanted, wanted.source[len(_FROM_ENVIRONMENT) :])
    else:
        content = _file(wanted)
    if not content:
        raise SpecError(None, wanted.field, f"{wanted.words}is empty")
    if len(content) > LONGEST:
        raise SpecError(None, wanted.field, f"{wanted.words}is longer than {LONGEST:,} bytes")
    return content


def _variable(wanted: _Wanted, name: str) -> bytes:
    if name not in os.environ:
        problem = f"{wanted.words}names the variable {name!r}, which is not set"
        raise SpecError(None, wanted.field, problem)
    return os.fsencode(os.environ[name])


def _file(wanted: _Wanted) -> bytes:
    try:
        return beginning(wanted.source, LONGEST + 1)
    except (FileNotFoundError, ValueError):  # ValueError: a zero byte in the path
        shown = _NO_VALUE if wanted.words else wanted.source
        problem = f"{wanted.words}names a file that does not exist: {shown}"
    except OSError as error:
        problem = f"{wanted.words}cannot be read: {wanted.source}: {error.strerror}"
    raise UnreadableFile(None, wanted.field, problem)


def _base64(content: bytes) -> str:
    return binascii.b2a_base64(content, newline=False).decode()


def _text(wanted: _Wanted, content: bytes) -> str:
    """The value of a variable, without a trailing newline, as in a shell's $(cat FILE)."""
    if b"\0" in content:
        problem = (
            f"{wanted.name} contains a zero byte, which a variable cannot: use a file (secrets)"
        )
        raise SpecError(None, wanted.field, problem)
    return content.decode(errors="surrogateescape").rstrip("\n")


def _check_sizes(contents: Mapping[_Wanted, bytes]) -> None:
    total = sum(map(len, contents.values()))
    if total > LARGEST:
        field = next(wanted.field for wanted in contents)
        limit = f"a task takes at most {LARGEST:,}"
        raise SpecError(None, field, f"has {total:,} bytes with all secrets; {limit}")
    variables = {w.name: _text(w, c) for w, c in contents.items() if w.field == "secret_env"}
    if problem := large_environment(variables):
        raise SpecError(None, "secret_env", problem)


def _warnings(wanted: Mapping[_Wanted, bytes]) -> Iterator[str]:
    for one in wanted:
        is_secret = one.field != "krb5_conf" and not one.source.startswith(_FROM_ENVIRONMENT)
        if is_secret and _is_open(one.source):
            yield (
                f"{one.source} contains a secret that everybody on this machine can read: "
                "chmod 600 it"
            )


def _is_open(path: str) -> bool:
    mode = os.stat(path).st_mode
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)
