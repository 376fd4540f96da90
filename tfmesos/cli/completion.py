"""The possible completions of a ``tfrun`` command line, from the tables of flags and commands."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ..config.engine_kinds import ENGINES
from ..config.setting import OneOf, Setting
from ..jobfiles import ENDINGS
from .arguments import FLAGS
from .commands.names import KNOWN, NAMES, TAKING_FLAGS, module_of, parser_of
from .completion_scripts import SCRIPTS

_OF_TFRUN = {one: flag for flag in FLAGS for one in flag.flags if "_" not in one}
_WITHOUT_ROW = {"--help": "list every flag", "--version": "show the version"}


class Candidate(NamedTuple):
    text: str
    help: str = ""


class Known(Protocol):
    """The runs of this machine (newest first), their tasks, and the profiles."""

    def runs(self) -> Iterable[Candidate]: ...

    def tasks(self, run_id: str) -> Iterable[Candidate]: ...

    def profiles(self) -> Iterable[Candidate]: ...


def split(line: str) -> list[str]:
    """The words after ``tfrun``; the last one is incomplete and may be empty."""
    try:
        words = shlex.split(line)
    except ValueError:  # a quote is still open
        words = line.split()
    return [*words[1:], ""] if line[-1:].isspace() else words[1:]


def candidates(words: Sequence[str], known: Known) -> list[Candidate]:
    """Completions of the last of the *words*; none if only a file or a command can follow."""
    *before, current = words
    found = _candidates(before, current, known)
    return [one for one in dict.fromkeys(found) if one.text.startswith(current)]


def _candidates(before: list[str], current: str, known: Known) -> Iterable[Candidate]:
    if not before and not current.startswith("-"):
        return _commands()
    command = before[0] if before else ""
    if command in KNOWN:
        return _of_command(command, before[1:], current, known)
    if command == "rerun" and len(before) == 1:
        return known.runs()
    if command in TAKING_FLAGS or command.endswith(ENDINGS):
        before = before[2 if command == "rerun" else 1 :]
    return _of_tfrun(before, current, known)


def _commands() -> Iterator[Candidate]:
    for name in NAMES:
        yield Candidate(name, module_of(name).HELP)
    yield from (Candidate(name, text) for name, text in TAKING_FLAGS.items())


def _of_tfrun(before: list[str], current: str, known: Known) -> Iterable[Candidate]:
    at = 0
    while at < len(before):
        word = before[at]
        if word == "--" or not word.startswith("-"):
            return ()  # the command has begun
        flag = _OF_TFRUN.get(word)
        at += 2 if flag and _needs_value(flag) else 1
        if flag and at > len(before):
            return _values(flag, known)
    name, equals, _ = current.partition("=")
    if equals and name in _OF_TFRUN:
        return (Candidate(f"{name}={v.text}", v.help) for v in _values(_OF_TFRUN[name], known))
    return _flags() if current.startswith("-") else ()


def _needs_value(flag: Setting) -> bool:
    """As the next word."""
    return flag.kind is not bool and not flag.implied


def _flags() -> Iterator[Candidate]:
    for name, flag in _OF_TFRUN.items():
        yield Candidate(name, flag.negation or flag.help)
    yield from (Candidate(name, text) for name, text in _WITHOUT_ROW.items())


def _values(flag: Setting, known: Known) -> Iterable[Candidate]:
    if flag.field == "profile":
        return known.profiles()
    if flag.field == "master":
        return (Candidate(one.master, one.words) for one in ENGINES.values() if one.master)
    return map(Candidate, flag.check.words) if isinstance(flag.check, OneOf) else ()


def _of_command(name: str, before: list[str], current: str, known: Known) -> Iterable[Candidate]:
    actions = parser_of(name)._actions
    options = {flag: action for action in actions for flag in action.option_strings}
    if before and (last := options.get(before[-1])) and last.nargs != 0:
        return _choices(last)
    if current.startswith("-"):
        return (Candidate(flag, action.help or "") for flag, action in options.items())
    given = list(_positional(before, options))
    expected = [action for action in actions if not action.option_strings][len(given) :]
    match expected[0].dest if expected else "":
        case "id":
            return known.runs()
        case "task" if given:
            return known.tasks(given[0])
        case "shell":
            return map(Candidate, SCRIPTS)
    return _choices(expected[0]) if expected else ()


def _choices(action: argparse.Action) -> Iterable[Candidate]:
    return map(Candidate, map(str, action.choices or ()))


def _positional(before: list[str], options: dict[str, argparse.Action]) -> Iterator[str]:
    words = iter(before)
    for word in words:
        if not word.startswith("-"):
            yield word
        elif (action := options.get(word)) and action.nargs != 0:
            next(words, None)


def shown(found: Sequence[Candidate], shell: str, current: str, breaks: str) -> str:
    """The completions as the script of the *shell* expects them, one per line."""
    if shell == "zsh":
        return "".join(f"{_escaped(one.text)}:{_line(one.help)}\n" for one in found)
    if shell == "fish":
        return "".join(f"{one.text}\t{_line(one.help)}\n" for one in found)
    start = max((current.rfind(char) for char in ":=" if char in breaks), default=-1) + 1
    return "".join(f"{one.text[start:]}\n" for one in found)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace(":", "\\:")


def _line(text: str) -> str:
    return re.sub(r"\s+", " ", text)
