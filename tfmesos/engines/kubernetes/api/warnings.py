"""Warnings of an API server: unknown fields, deprecated versions, policies."""

from __future__ import annotations

import re
from collections.abc import Callable

from ....text import shortened

MOST = 20  # warnings of one server that are shown
MOST_WORDS = 300  # characters of each
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')  # several are separated by commas


class Warnings:
    def __init__(self, warned: Callable[[str], None]) -> None:
        self._warned = warned
        self._seen: set[str] = set()

    def take(self, header: str) -> None:
        """Pass on the warnings of a header that are new."""
        for quoted in _WARNING.findall(header):
            words = shortened(re.sub(r"\\(.)", r"\1", quoted), MOST_WORDS)
            if words not in self._seen and len(self._seen) < MOST:
                self._seen.add(words)
                self._warned(words)
