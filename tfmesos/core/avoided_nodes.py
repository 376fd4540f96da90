"""Nodes on which tasks keep failing to start, and which are avoided for a while."""

from __future__ import annotations

from collections import Counter

AVOIDED_FOR = 30.0  # seconds for which a node is avoided when tasks keep failing to start there
KEEPS_FAILING = 2  # failures in a row that make it so


class AvoidedNodes:
    def __init__(self) -> None:
        self._failures: Counter[str] = Counter()
        self.until: dict[str, float] = {}  # by node: the end of the time it is left alone

    def worked(self, node: str) -> None:
        self._failures.pop(node, None)

    def failed(self, node: str, now: float, *, at_once: bool = False) -> None:
        """Note that a task did not start there, or that one shall leave it *at_once*."""
        self._failures[node] += 1
        if at_once or self._failures[node] >= KEEPS_FAILING:
            del self._failures[node]
            self.until[node] = now + AVOIDED_FOR
