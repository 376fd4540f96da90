"""The command line: argv -> LaunchConfig -> Run -> exit code."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from . import flags
from .errors import Interrupted, SpecError, TFMesosError

if TYPE_CHECKING:
    from .actions import Outcome
    from .console import Console
    from .spec import LaunchConfig

_SIGNALS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}
_NOBODY_READS = 128 + signal.SIGPIPE


def main(argv: Sequence[str] | None = None) -> int:
    """Run tfrun; returns its exit code."""
    try:
        args = flags.parse(sys.argv[1:] if argv is None else argv)
        return run(args)
    except SpecError as error:
        return _complain(flags.in_flags(error), error.exit_code)
    except TFMesosError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", Interrupted.exit_code)


def run(args: object) -> int:
    from .config import make_config

    config = make_config(flags.jobs_of(args), **flags.settings_of(args))  # type: ignore[arg-type]
    if getattr(args, "dry_run", False):
        return _dry_run(config)
    return _launch(config, is_verbose=getattr(args, "verbose", False))


def _complain(text: str, code: int) -> int:
    print(f"tfrun: {text}", file=sys.stderr)
    return code


def _dry_run(config: LaunchConfig) -> int:
    from .preview import preview

    json.dump(preview(config, socket.gethostname()), sys.stdout, indent=2)
    print()
    return 0


def _launch(config: LaunchConfig, *, is_verbose: bool) -> int:
    from .console import Console, Screen

    if is_verbose:
        logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(name)s: %(message)s")
    console = Console(Screen.of_this_process(), level="debug" if is_verbose else "notice")
    try:
        outcome = asyncio.run(_go(config, console))
        console.report(outcome)
    finally:
        console.close()
    return outcome.exit_code


async def _go(config: LaunchConfig, console: Console) -> Outcome:
    from .run import Run

    run = Run(config, console)
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, run.interrupt)
    for number, word in _SIGNALS.items():
        loop.add_signal_handler(number, run.request_stop, word, 128 + number)
    console.on_closed = partial(
        loop.call_soon_threadsafe, run.request_stop, "nobody reads the output", _NOBODY_READS
    )
    return await run.go()
