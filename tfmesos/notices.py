"""Words on a wait: when they change, and not too often; when they do not, seldom."""

from __future__ import annotations

from collections.abc import Callable

from .actions import Action, Say

FIRST = 3.0  # seconds until the first word
EVERY = 5.0  # seconds between two words, at least
REPEAT = 30.0  # seconds until the same is said again


class Notices:
    def __init__(self, now: float) -> None:
        self.deadline = now + FIRST
        self._said, self._said_at = "", now

    def say_if_due(self, words: Callable[[], str], now: float) -> list[Action]:
        if now < self.deadline:
            return []
        self.deadline = now + EVERY
        text = words()
        if text == self._said and now < self._said_at + REPEAT:
            return []
        self._said, self._said_at = text, now
        return [Say(text, "notice")]
