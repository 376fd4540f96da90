"""Ask the master for its agents when there is no place at once: the wait may be for nothing."""

from __future__ import annotations

from .actions import Action, CountAgents

ASK_AFTER = 1.0  # seconds without a place for every task; most runs have theirs by then
ASK_EVERY = 60.0  # seconds until agents that have left, or have yet to come back, are noticed


class Inquiry:
    def __init__(self) -> None:
        self.deadline: float | None = None
        self.is_open = True

    def begin(self, now: float) -> None:
        if self.is_open and self.deadline is None:
            self.deadline = now + ASK_AFTER

    def ask_if_due(self, now: float) -> list[Action]:
        if self.deadline is None or now < self.deadline:
            return []
        self.deadline = now + ASK_EVERY
        return [CountAgents()]

    def close(self) -> None:
        """There was a place for every task once, so there may be again."""
        self.deadline, self.is_open = None, False
