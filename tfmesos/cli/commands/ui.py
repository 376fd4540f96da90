"""``tfrun ui``, and what ``tfrun open`` shares with it."""

from __future__ import annotations

import argparse
import os

from ...launcher.screen.standard_streams import NOBODY_READS, unwritten
from . import common_arguments
from .answer import Unwritten, say, screen
from .choice import store
from .common_arguments import NO_BROWSER, Argument

HELP = "serve a page of all runs on this machine until Ctrl-C, and open it in your browser"
ARGUMENTS: tuple[Argument, ...] = (
    (
        ("--port",),
        {
            "type": common_arguments.port,
            "metavar": "N",
            "help": "port of the page (default: a free one)",
        },
    ),
    NO_BROWSER,
)


def run(args: argparse.Namespace) -> int:
    return open_page(args, None, args.port)


def open_page(args: argparse.Namespace, run_id: str | None, port: int | None = None) -> int:
    from ...runs.page.opening import has_browser
    from ...runs.page.serving import Page, Unshown

    runs = store()
    runs.check_root()
    use_browser = args.browser and has_browser(os.environ)
    page = Page(runs.root, use_browser=use_browser, say=say, show=screen.out)
    try:
        return page.open(run_id, port)
    except Unshown as unshown:
        if isinstance(unshown.error, BrokenPipeError):
            return NOBODY_READS
        raise Unwritten(unwritten(unshown.error)[0]) from None
