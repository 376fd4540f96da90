"""Parses values of settings that are more than a string or a number."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ..errors import SpecError
from .exec_limits import long_argument


def parse_extra_config(value: object) -> tuple[str | None, str | None]:
    """The initializer and finalizer of TFMesos's extra_config object."""
    if not isinstance(value, Mapping):
        raise SpecError(None, "extra_config", f"must be a JSON object, got {value!r}")
    for key, command in value.items():
        if key not in ("initializer", "finalizer"):
            raise SpecError(
                None, "extra_config", f"may contain only initializer and finalizer, not {key!r}"
            )
        if command is not None and not isinstance(command, str):
            raise SpecError(None, "extra_config", f"{key} must be a shell command, got {command!r}")
        if problem := long_argument(command or ""):
            raise SpecError(None, "extra_config", f"{problem} ({key})")
    return value.get("initializer"), value.get("finalizer")


def parse_address(field_name: str, text: str) -> tuple[str, int]:
    """``HOST[:PORT]`` as a pair, port 0 when none is given; ``[::1]:80`` for IPv6."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]{2,45}\]|[\w.%-]{1,253})(?::(\d{1,5}))?", text, re.A)
    if not found or int(found[2] or 0) > 65535:
        raise SpecError(None, field_name, f"must be HOST or HOST:PORT, got {text!r}")
    return found[1].strip("[]"), int(found[2] or 0)
