"""``tfrun config``: every setting that differs from its default, and where it comes from."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..command_line import Answer
from ..config.secret import without_password
from ..config.settings import DOCUMENT_KEYS, OF_CALL, SETTINGS
from ..inputs.profile import Profile, config_file, profile_of
from ..jobfiles.native import ADDED, MERGED
from ..jobfiles.translation import Document, Key, dotted
from ..record import Record
from ..sanitize import plain_all
from .arguments import flag_of, parse_flags, settings_of
from .flag_inputs import job_file_of

HELP = """\
usage: tfrun config [--json] [flags of tfrun]

Show every setting that differs from its default, and where its value comes from: a flag, the
job file, a profile, the environment, or the [defaults] of your configuration file.
"""
_JSON = "--json"


class Row(Record):
    setting: str
    value: Any
    origin: str


class _Source(Record):
    """A source of settings; *origin* says where it sets a key."""

    document: Document
    origin: Callable[[Key], str]


def config_listing(argv: Sequence[str]) -> str:
    """What ``tfrun config`` with these arguments writes."""
    if argv[:1] in (["-h"], ["--help"]):
        raise Answer(HELP)
    end = argv.index("--") if "--" in argv else len(argv)
    flags = [word for word in argv[:end] if word != _JSON]
    rows = list(rows_of(parse_flags(flags), os.environ))
    if _JSON in argv[:end]:
        texts = [{"setting": r.setting, "value": r.value, "from": r.origin} for r in rows]
        return f"{json.dumps(texts, indent=2)}\n"
    if not rows:
        return (
            "every setting has its default value; profiles are read from "
            f"{config_file(os.environ)}\n"
        )
    shown = [(f"{row.setting} = {json.dumps(row.value)}", row.origin) for row in rows]
    width = max(len(text) for text, _ in shown)
    return "".join(f"{plain_all(f'{text:{width}}  {origin}')}\n" for text, origin in shown)


def rows_of(args: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[Row]:
    sources = list(_sources(args, environ))
    for field in (*OF_CALL, *DOCUMENT_KEYS):
        for key, value, origin in _said(field, sources):
            yield Row(dotted(key), _shown(field, value), origin)


def _sources(args: argparse.Namespace, environ: Mapping[str, str]) -> Iterator[_Source]:
    """The sources, the one with the highest precedence first."""
    profile = profile_of(vars(args), environ)
    flags = {k: v for k, v in settings_of(args).items() if v is not None}
    yield _Source(flags, lambda key: flag_of(str(key[0])))
    if (file := job_file_of(args, profile)) is not None:
        yield _Source(file.document, file.place_of)
    yield _Source(profile.chosen, lambda key: _of_profile(profile, key))
    yield _Source(_variables(environ), lambda key: f"${_VARIABLES[str(key[0])]}")
    yield _Source(profile.defaults, lambda key: f"{profile.place_of(key)} ([defaults])")


def _of_profile(profile: Profile, key: Key) -> str:
    return f"{profile.place_of(key)} ([profiles.{profile.name}])"


_VARIABLES = {setting.field: setting.variable for setting in SETTINGS if setting.variable}


def _variables(environ: Mapping[str, str]) -> Document:
    return {field: environ[name] for field, name in _VARIABLES.items() if environ.get(name)}


def _said(field: str, sources: Sequence[_Source]) -> Iterator[tuple[Key, Any, str]]:
    """The value of a setting; if several sources contribute to it, each part."""
    seen: set[Key] = set()
    for source in sources:
        parts = list(_parts(field, source.document.get(field)))
        for key, value in parts:
            if key not in seen or field in ADDED:
                yield key, value, source.origin(key)
        seen |= {key for key, _ in parts}


def _parts(field: str, value: Any) -> Iterator[tuple[Key, Any]]:
    if isinstance(value, Mapping) and field in MERGED:
        yield from (((field, name), one) for name, one in value.items())
    elif isinstance(value, list) and field in ADDED:
        yield from (((field,), one) for one in value)
    elif value is not None:
        yield (field,), value


def _shown(field: str, value: Any) -> Any:
    return without_password(value) if field == "master" else value
