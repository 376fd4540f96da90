"""What a node runs: the front of ``node``, under the name that TFMesos had for it."""

from .node.main import main
from .node.runner import Runner

__all__ = ["Runner", "main"]
