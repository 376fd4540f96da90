"""Flags whose value may be left out, and is given only after ``=``: ``--ship``, ``--ship=DIR``."""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Sequence

from ..config.setting import Seconds, Setting
from ..config.units import seconds
from ..errors import SpecError

_MAY_BE_BARE = "containerizer_type"  # TFMesos took -C without a value: the default


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    def _format_action_invocation(self, action: argparse.Action) -> str:
        return super()._format_action_invocation(action).replace(" [=", "[=")


def with_implied(argv: Sequence[str], settings: Sequence[Setting]) -> list[str]:
    """Give each flag that has no value its implied one: the next word is never its value.

    Only as far as the flags go; what follows is the command, which may have flags like ours.
    """
    flags = {one: flag for flag in settings for one in flag.flags}
    words, at = list(argv), 0
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        flag = flags.get(words[at])
        if flag and flag.field == _MAY_BE_BARE and _is_bare(words, at):
            del words[at]
            continue
        if flag and flag.implied:
            _refuse_value(flag, words[at + 1 :])
            words[at] += f"={flag.implied}"
        at += 2 if flag and flag.kind is not bool and not flag.implied else 1
    return words


def _is_bare(words: Sequence[str], at: int) -> bool:
    """Does no value follow?"""
    return at + 1 == len(words) or words[at + 1].startswith("-")


def _refuse_value(flag: Setting, behind: Sequence[str]) -> None:
    """The first word *behind* the flag is the command, unless it can only be meant as its value."""
    if not behind or behind[0].startswith("-"):
        return
    word, *rest = behind
    is_command = shutil.which(word) and not (os.path.isdir(word) and "--" in rest)
    if _is_value(flag, word) and not is_command:
        raise SpecError(None, flag.field, f"takes its value after =: {flag.flags[-1]}={word}")


def _is_value(flag: Setting, word: str) -> bool:
    if flag.field == "ship":
        return "://" in word or os.path.exists(word)
    if flag.kind is Seconds:
        return seconds(word) is not None
    return flag.check is not None and not flag.check(word)
