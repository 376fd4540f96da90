"""Limits of Linux for the start of a process; anything beyond is refused before the run."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")  # of a variable

MAX_STRING = 131_071  # bytes of one argument, or of one variable with its name (MAX_ARG_STRLEN)
MAX_ENVIRONMENT = 1024 * 1024  # bytes of all variables; Linux takes 2 MiB, with the arguments


def long_argument(*arguments: str) -> str:
    """What is wrong with the longest of them, if anything is."""
    size = max((_size(argument) for argument in arguments), default=0)
    if size <= MAX_STRING:
        return ""
    limit = f"Linux allows at most {MAX_STRING:,} in one argument: put it into a file"
    return f"has an argument of {size:,} bytes; {limit}"


def wrong_name(env: Mapping[str, str]) -> str:
    """What is wrong with the name of a variable, if anything is."""
    wrong = (name for name in env if not _NAME.fullmatch(name))
    return next((f"needs a variable name before =, got {name!r}" for name in wrong), "")


def large_environment(env: Mapping[str, str]) -> str:
    """What is wrong with the size of these variables, if anything is."""
    sizes = {name: _size(f"{name}={value}") for name, value in env.items()}
    for name, size in sizes.items():
        if size > MAX_STRING:
            limit = f"Linux allows at most {MAX_STRING:,} in one variable"
            return f"has {size:,} bytes in {name}=...; {limit}"
    total = sum(sizes.values()) + len(sizes)  # each ends with a zero
    if total > MAX_ENVIRONMENT:
        limit = f"at most {MAX_ENVIRONMENT:,} are passed on: put them into a file"
        return f"has {total:,} bytes in all; {limit}"
    return ""


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
