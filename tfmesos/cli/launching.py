"""Runs a run from its record to its exit code, on this screen or in the background."""

from __future__ import annotations

import asyncio
import gc
import signal
from asyncio import AbstractEventLoop
from collections.abc import Callable
from functools import partial

from ..core.outcome import Outcome
from ..errors import Interrupted, SpecError
from ..launcher.past import Succession
from ..launcher.run import Run
from ..launcher.screen.console import STALLED, Console, log_to
from ..launcher.screen.standard_streams import (
    Screen,
    is_inherited_input,
    unread_input,
    unwritten,
)
from ..launcher.screen.terminal_signals import watch_terminal
from ..runs.detaching import Handover
from ..runs.recorded_run import Recording
from ..sanitize import plain_all
from .arguments import flag_of

_STOP_SIGNALS = {signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


def launch(
    record: Callable[[Console], Recording],
    *,
    level: str,
    handover: Handover | None = None,
    is_left: bool = False,
) -> int:
    """Run what *record* opens, and return its exit code.

    If it *is left*, the next launcher continues the run when this one is terminated.
    """
    gc.freeze()
    screen = Screen.of_this_process()
    if handover:
        screen = screen.replace(live=False)  # nothing may remain of it when the terminal is
    console = Console(screen, level=level, named=flag_of)
    log_to(console, level)
    try:
        with record(console) as recording:
            if handover:
                handover.named(recording.id)
            run = _new_run(recording, console, handover)
            outcome = asyncio.run(_go(run, console, recording, is_left))
    except BaseException as error:
        if handover and isinstance(error, SpecError):
            handover.discarded()
        console.close(STALLED)
        raise
    if outcome.ok and console.failure is not None:  # it came too late to end the run
        return _complain(*unwritten(console.failure))
    return outcome.exit_code


def _new_run(recording: Recording, console: Console, handover: Handover | None) -> Run:
    config = recording.config

    def on_ready(_: object) -> None:
        if handover:
            handover.ready()
        if not config.local_chief and unread_input():
            level = "info" if is_inherited_input() else "notice"
            console.say("no task reads standard input, except with --local-chief", level)

    run = Run(
        config,
        console,
        recording.id,
        on_ready=on_ready,
        observer=recording.observer,
        bring_to=recording.brought,
        succession=Succession(recording.keys, recording.past) if recording.keys else None,
    )
    if handover and recording.past is not None:
        run.on_open = handover.ready
    return run


def _complain(text: str, code: int) -> int:
    try:
        Screen.of_this_process().err(f"tfrun: {plain_all(text)}\n")
    except OSError:
        pass  # nobody to tell
    return code


def _tell(loop: AbstractEventLoop, run: Run, error: Exception) -> None:
    """From the thread of the console."""
    try:
        loop.call_soon_threadsafe(run.output_failed, error)
    except RuntimeError:
        pass  # the run is over already


async def _go(run: Run, console: Console, recording: Recording, is_left: bool) -> Outcome:
    loop = asyncio.get_running_loop()
    if not run.config.local_chief:  # which sees everything itself
        watch_terminal(loop, console)
    console.on_failure = partial(_tell, loop, run)
    end = run.give_away if is_left and run.config.survive else run.request_stop
    handlers = {signal.SIGINT: run.interrupt} | {
        number: partial(end, word, 128 + number) for number, word in _STOP_SIGNALS.items()
    }
    for number, handler in handlers.items():
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup, or a shell's background
            loop.add_signal_handler(number, handler)
    async with recording.control(run):
        outcome = await run.go()
    recording.ended(outcome)
    console.report(outcome)
    try:
        await run.stop_requests.unless_cut(console.finish())
    except Interrupted as stop:
        await asyncio.to_thread(console.close, STALLED)  # signals are still handled meanwhile
        if outcome.ok:
            _complain(str(stop), stop.exit_code)
            return outcome.replace(error=stop)
    return outcome
