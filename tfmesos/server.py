"""What a node runs: the front of ``node``, under the name that TFMesos had for it."""

from .node.runner import Runner, main

__all__ = ["Runner", "main"]
