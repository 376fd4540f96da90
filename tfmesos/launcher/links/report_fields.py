"""Validates what runners report, because it ends up in commands and on screens of users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import MAX_CODE, FrameError
from ...shared import wire


def ending(message: Mapping[str, Any]) -> tuple[int, str]:
    """``code`` and ``reason`` of *message*; an impossible code becomes a failure, 1."""
    code, reason = wire.field(message, "code", int), wire.field(message, "reason", str)
    if 0 <= code <= MAX_CODE:
        return code, reason
    return 1, f"{reason} (not an exit code: {str(code)[:20]})"


def address(message: Mapping[str, Any]) -> tuple[str, int]:
    """``host`` and ``port`` of *message*, checked, because they end up in the commands of users."""
    host, port = wire.field(message, "host", str), wire.count(message, "port")
    if not host or not all(c.isascii() and (c.isalnum() or c in "-._:%") for c in host):
        raise FrameError(f"{message.get('type')!r} without a proper 'host'")
    if port > 65535:
        raise FrameError(f"{message.get('type')!r} with an invalid port")
    return host, port


def directory(message: Mapping[str, Any]) -> str:
    """``directory`` of *message*; most have none."""
    return wire.field(message, "directory", str) if "directory" in message else ""


def lines(message: Mapping[str, Any], name: str) -> list[str]:
    """The field *name* of *message*, a list of lines of text."""
    value = wire.field(message, name, list)
    if not all(isinstance(line, str) for line in value):
        raise FrameError(f"{message.get('type')!r} with {name!r} that are not text")
    return value


def node(message: Mapping[str, Any]) -> str:
    """``node`` of *message*; empty if it has none, or one that no engine would give."""
    name = wire.field(message, "node", str) if "node" in message else ""
    is_good = len(name) < 256 and all(c.isascii() and (c.isalnum() or c in "-._") for c in name)
    return name if is_good and not name.startswith("-") else ""
