"""``tfrun replace``."""

from __future__ import annotations

import argparse

from .restart import ARGUMENTS as ARGUMENTS
from .restart import start_again

HELP = "stop a task and start it again on another node, and wait until it runs"


def run(args: argparse.Namespace) -> int:
    return start_again(args, elsewhere=True)
