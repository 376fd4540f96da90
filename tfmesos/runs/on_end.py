"""What the user wants done when a run has ended: a command on this machine, or a POST."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from ..config.secret import without_password
from ..core.outcome import Outcome
from ..errors import Interrupted
from ..http.client import Session
from ..http.connection import HttpError
from ..json_types import Json
from ..text import shortened

COMMAND_WITHIN = 60.0  # seconds
POST_WITHIN = 15.0  # seconds
_LOOK_EVERY = 0.1  # seconds
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_VARIABLES = ("run", "state", "exit_code", "reason", "seconds")


def facts_of(run_id: str, name: str, outcome: Outcome, seconds: float) -> Json:
    is_stopped = isinstance(outcome.error, Interrupted) and outcome.exit_code > 128
    state = "succeeded" if outcome.ok else "stopped" if is_stopped else "failed"
    return {
        "run": run_id,
        "name": without_password(name),
        "state": state,
        "exit_code": outcome.exit_code,
        "reason": without_password(shortened(str(outcome.error or ""), 1000)),
        "seconds": round(seconds, 3),
    }


def do_on_end(wanted: str, facts: Json, complain: Callable[[str], object]) -> None:
    """Never raises: the run has already ended."""
    try:
        problem = _post(wanted, facts) if is_url(wanted) else _call(wanted, facts)
    except Exception as error:
        problem = f"{type(error).__name__}: {shortened(str(error))}"
    if problem:
        complain(f"{problem}; the run itself ended with {facts['exit_code']}")


def is_url(wanted: str) -> bool:
    return wanted.startswith(("http://", "https://"))


def _call(command: str, facts: Json) -> str:
    """Returns what went wrong.

    Its output goes to standard error: standard output is for the tasks.
    """
    told = {f"TFMESOS_{name.upper()}": str(facts[name]) for name in _VARIABLES}
    with _signals() as came:
        process = subprocess.Popen(
            command,
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=2,
            env={**os.environ, **told},
            start_new_session=True,  # so that all of it can be ended
        )
        return _ending(process, came)


def _ending(process: subprocess.Popen[bytes], came: list[int]) -> str:
    until = time.monotonic() + COMMAND_WITHIN
    while process.poll() is None:
        if came or time.monotonic() > until:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            late = f"did not end within {COMMAND_WITHIN:g} s and was killed"
            return f"the command of on_end {'was interrupted' if came else late}"
        with suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK_EVERY)
    code = process.returncode
    return f"the command of on_end exited with {code}" if code else ""


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Signals that arrive: they would end us at once, and leave the command behind."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: found for number in _ENDING if (found := signal.getsignal(number)) in usual}
    for number in before:
        signal.signal(number, lambda number, frame: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _post(url: str, facts: Json) -> str:
    """Returns what went wrong, naming only the host of the URL: the rest is often a secret."""
    host = urlsplit(url).hostname
    try:
        status = asyncio.run(asyncio.wait_for(_status(url, facts), POST_WITHIN))
    except (TimeoutError, KeyboardInterrupt):
        return f"the POST of on_end to {host} had no answer within {POST_WITHIN:g} s"
    except (OSError, HttpError) as error:
        why = getattr(error, "strerror", None) or type(error).__name__
        return f"the POST of on_end to {host} failed: {why}"
    is_good = 200 <= status < 300
    return "" if is_good else f"the POST of on_end to {host} was answered with {status}"


async def _status(url: str, facts: Json) -> int:
    body = json.dumps(facts).encode()
    async with Session() as session:
        headers = {"Content-Type": "application/json"}
        async with await session.ask("POST", url, body, headers) as response:
            return response.status
