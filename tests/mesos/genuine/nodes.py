"""The names of the nodes of ``three_nodes``."""

from __future__ import annotations

NODES = ("node-1", "node-2", "node-3")
