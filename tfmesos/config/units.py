"""Sizes and times with units, such as ``2G`` and ``5m``. Plain numbers keep their meaning."""

from __future__ import annotations

import re

_MIB = {"K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2}  # as Docker counts
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}

_NUMBER = r"[0-9]{1,15}(?:\.[0-9]{0,9})?|\.[0-9]{1,9}"
_PLAIN = re.compile(rf"[-+]?(?:{_NUMBER})")
_SIZE = re.compile(rf"({_NUMBER}) ?([KMGT])i?B?", re.I)
_TIME = re.compile(rf"(?:(?:{_NUMBER}) ?[smhd] ?)+")
_PART = re.compile(rf"({_NUMBER}) ?([smhd])")

SIZE = "a number of MiB, or a size such as 512M or 2G"
TIME = "a number of seconds, or a time such as 90s, 5m or 1h30m"


def mebibytes(text: str) -> float | None:
    """None if it is not a size."""
    if _PLAIN.fullmatch(text):
        return float(text)
    found = _SIZE.fullmatch(text)
    return float(found[1]) * _MIB[found[2].upper()] if found else None


def seconds(text: str) -> float | None:
    """None if it is not a time."""
    if _PLAIN.fullmatch(text):
        return float(text)
    if not _TIME.fullmatch(text):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
