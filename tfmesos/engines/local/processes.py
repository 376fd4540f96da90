"""Tasks without an image: plain processes of this machine, each in a session and a sandbox."""

from __future__ import annotations

import asyncio
import os
import subprocess
import threading
from collections.abc import Callable

from ...errors import RUNNER_EXITS
from ...shared import process
from .scratch_directory import make_sandbox
from .task_launch import Launch, NotStarted

_EXIT_CODE = 49  # where /proc/PID/stat has it, from the state on


def start_process(launch: Launch) -> subprocess.Popen[bytes]:
    """Raises NotStarted."""
    try:
        make_sandbox(launch.sandbox)
        with (
            open(launch.sandbox / "stdout", "wb") as out,
            open(launch.sandbox / "stderr", "wb") as err,
        ):
            return subprocess.Popen(
                ["sh", "-c", launch.command],
                executable="/bin/sh",
                env=launch.environment(),
                cwd=launch.sandbox,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument or a variable
        raise NotStarted(process.in_words(error)) from error


def ended_by_itself(pid: int) -> bool:
    """Has this runner, which is not reaped yet, ended normally? Then nothing of its task is left.

    It adopts all that its command leaves behind, and ends last. One that was killed, or had an
    internal error, may leave something. If its end is unknown, it counts as killed.
    """
    fields = process.stat(pid)
    if len(fields) <= _EXIT_CODE or fields[0] != b"Z":
        return False
    status = int(fields[_EXIT_CODE])
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) not in RUNNER_EXITS


def watch(pid: int, wait: Callable[[], object], ended: Callable[[], None]) -> Callable[[], None]:
    """Call *ended* when the process ends, until the answer is called.

    No child watcher is used, because those need the main thread. *wait* returns when it has ended.
    """
    loop = asyncio.get_running_loop()
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):  # not Linux, or an old one
        return _watch_by_thread(wait, ended, loop)
    loop.add_reader(descriptor, ended)

    def unwatch() -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)

    return unwatch


def _watch_by_thread(
    wait: Callable[[], object], ended: Callable[[], None], loop: asyncio.AbstractEventLoop
) -> Callable[[], None]:
    def await_end() -> None:
        wait()
        try:
            loop.call_soon_threadsafe(ended)
        except RuntimeError:
            pass  # the loop is closed: nobody is interested any more

    threading.Thread(target=await_end, daemon=True).start()
    return lambda: None
