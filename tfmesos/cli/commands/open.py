"""``tfrun open``."""

from __future__ import annotations

import argparse

from .choice import living_or_latest
from .common_arguments import LATEST, NO_BROWSER, Argument
from .ui import open_page

HELP = "serve the page of a run on this machine until Ctrl-C, and open it in your browser"
ARGUMENTS: tuple[Argument, ...] = (LATEST, NO_BROWSER)


def run(args: argparse.Namespace) -> int:
    return open_page(args, living_or_latest(args.id).id)
