"""The command line: argv -> LaunchConfig -> Run -> exit code.

Imports wait until they are needed, and until an interrupt can be reported in one line: above that
there is only what Python itself has loaded.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import NoReturn

    from .config.launch_config import LaunchConfig
    from .inputs.resolve import Inputs
    from .launcher.screen.console import Console
    from .runs.detaching import Handover
    from .runs.run_files import RunDirectory

_EX_SOFTWARE = 70
_EX_OSERR = 71
_LEVELS = ("notice", "info", "debug")  # without -v, with it, with -vv


def main(argv: Sequence[str] | None = None) -> int:
    """Run tfrun; returns its exit code."""
    from .errors import Interrupted, SpecError, TFMesosError

    _open_standard_streams()
    try:
        from .cli import arguments

        return _do(sys.argv[1:] if argv is None else argv)
    except SpecError as error:
        return _complain(arguments.in_flags(error), error.exit_code)
    except TFMesosError as error:
        return _complain(str(error), error.exit_code)
    except KeyboardInterrupt:
        return _complain("interrupted", Interrupted.exit_code)
    except Exception as error:
        from .shared import process

        if process.is_limit(error):
            return _complain(process.AT_LIMIT, _EX_OSERR)
        sys.excepthook(type(error), error, error.__traceback__)
        return _complain(f"internal error; please report it: {_named(error)}", _EX_SOFTWARE)


def script() -> NoReturn:
    """What the command ``tfrun`` calls: it starts and exits as fast as possible."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, _end_at_once)
    code = main()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, AttributeError):
            pass  # closed, or there was none from the start
    os._exit(code)


def _end_at_once(*_: object) -> NoReturn:
    """Handles Ctrl-C before anything is started. An exception could turn up in any import."""
    try:
        os.write(2, b"tfrun: interrupted\n")
    finally:
        os._exit(128 + signal.SIGINT)


def _do(argv: Sequence[str]) -> int:
    from .cli.arguments import parse
    from .command_line import Answer

    try:
        if argv and _is_about_runs(argv[0]):
            return _look(argv)
        if argv and argv[0] == "config":
            from .cli.config_listing import config_listing

            return _show(config_listing(argv[1:]))
        if argv and argv[0] == "rerun":
            from .cli.rerun import rerun_arguments

            argv = rerun_arguments(argv[1:])
        args = parse(argv)
        args.argv = argv
    except Answer as answer:
        return _show(str(answer))
    return _run(args)


def _is_about_runs(word: str) -> bool:
    if word.startswith("-"):
        return False
    from .cli.commands.names import KNOWN

    return word in KNOWN


def _look(argv: Sequence[str]) -> int:
    """A command about runs, old and new."""
    from .cli.commands import names

    signal.signal(signal.SIGINT, signal.default_int_handler)
    return names.run(argv)


def _run(args: argparse.Namespace) -> int:
    from .cli.flag_inputs import inputs_of

    inputs = inputs_of(args)
    if args.dry_run == "tfjob" and (text := inputs.as_tfjob()) is not None:
        return _show(text)
    config = inputs.config(resumes=args.resume)
    if args.dry_run:
        return _dry_run(config, args, inputs)
    if args.resume and (lost := _lost_run(config)) is not None:
        from .cli.taking_over import take_over

        return take_over(lost, level=_level(args))
    if args.detach:
        return _detach(config, args)
    return _launch(config, args)


def _lost_run(config: LaunchConfig) -> RunDirectory | None:
    """The run of the same name that --resume continues."""
    from .cli.taking_over import await_lost

    return await_lost(config.name, lambda text: _complain(text, 0))


def _detach(config: LaunchConfig, args: argparse.Namespace) -> int:
    from .config.task_choice import NO_TASK
    from .errors import SpecError
    from .runs.detaching import Handover

    for field, is_wrong in (("local_chief", config.local_chief), ("record", not config.record)):
        if is_wrong:
            raise SpecError(None, field, "cannot be combined with --detach")
    handover = Handover()
    if handover.has_the_run:
        return _launch(config.replace(logs=NO_TASK), args, handover)
    run_id, code = handover.wait()
    return (_show(f"{run_id}\n") if run_id else 0) or code


def _open_standard_streams() -> None:
    """Opens closed standard streams, so that our sockets do not take their places.

    The stub does so in two lines of its own, because it imports none of our modules.
    """
    for fd in (0, 1, 2):
        try:
            os.fstat(fd)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one


def _named(error: BaseException) -> str:
    """The first error of a group, in its own words: its repr might show what it was about."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"


def _complain(text: str, code: int) -> int:
    from .sanitize import plain_all

    try:
        print(f"tfrun: {plain_all(text)}", file=sys.stderr)
    except OSError:
        pass  # nobody to tell
    return code


def _dry_run(config: LaunchConfig, args: argparse.Namespace, inputs: Inputs) -> int:
    from .cli.dry_run import shown
    from .errors import SpecError

    for warning in config.warnings:
        _complain(warning, 0)
    try:
        text = shown(args.dry_run, config, inputs.document)
    except SpecError as error:  # this format cannot express it
        raise inputs.located(error) from None
    return _show(text)


def _show(text: str) -> int:
    """Write an answer to standard output; returns the exit code."""
    from .launcher.screen.standard_streams import NOBODY_READS, Screen, unwritten

    try:
        Screen.of_this_process().out(text)
    except BrokenPipeError:
        return NOBODY_READS
    except OSError as error:
        return _complain(*unwritten(error))
    return 0


def _level(args: argparse.Namespace) -> str:
    return _LEVELS[min(args.verbose or 0, 2)]


def _launch(
    config: LaunchConfig,
    args: argparse.Namespace,
    handover: Handover | None = None,
) -> int:
    from .engines.plugins import plugin_of

    with plugin_of(config.engine.name).head_start(config):
        return _live(config, args, handover)


def _live(config: LaunchConfig, args: argparse.Namespace, handover: Handover | None) -> int:
    from .cli.launching import launch
    from .runs.recorded_run import Recording

    def record(console: Console) -> Recording:
        return Recording(
            config,
            ["tfrun", *args.argv],
            console,
            args.argv,
            shown=args.cmd or args.argv,
            needed_by="--detach" if args.detach else "--resume" if args.resume else "",
        )

    return launch(record, level=_level(args), handover=handover, is_left=args.resume)
