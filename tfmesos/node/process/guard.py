"""A process that outlives the parent of a task and ends the task then.

The runner forks it. For the task of ``--local-chief`` the launcher, which has threads, starts it
as a program of its own (``program``).
"""

from __future__ import annotations

import os
import time

from ...shared import held_directory, process
from ...shared.stdlib import signal
from . import orphans
from .spawn import close_all_but

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import NoReturn

_PROGRAM = """import sys
sys.path.insert(0, sys.argv[1])
from tfmesos.node.process.guard import watch
watch(0, sys.argv[2], float(sys.argv[3]))
"""


class Guard:
    """The runner's: it kills the commands of a runner that was killed by SIGKILL.

    It reads from a pipe which sessions begin and end, and which directories to remove. The runner's
    death closes the pipe.
    """

    def __init__(self, task: str, adopts: bool = False) -> None:
        """OSError if it cannot be started. *adopts*: may this process adopt all orphans?"""
        self._task = task
        self._adopts = adopts and orphans.adopt()
        self._sessions: set[int] = set()
        read_end, self._pipe = os.pipe()
        try:
            self._pid = os.fork()
        except OSError:
            os.close(read_end)
            os.close(self._pipe)
            raise
        if self._pid == 0:
            _become_guard(read_end, task)
        os.close(read_end)

    def began(self, leader: int) -> None:
        self._sessions.add(leader)
        self._write(leader)

    def ended(self, leader: int) -> None:
        self._sessions.discard(leader)
        self._write(-leader)

    def remove_later(self, directory: str) -> None:
        """Remove *directory* if we are killed; it need not exist yet."""
        self._write(directory)

    def reap_orphans(self) -> None:
        if self._adopts:
            orphans.reap(self._known)

    def kill_session(self, leader: int) -> None:
        """Leave nothing alive of the session of a *leader* that has ended."""
        if self._adopts:
            process.signal_group(leader, signal.SIGKILL)
            orphans.kill(self._known, leader)
        else:
            process.kill_session(leader)

    def kill_orphans(self) -> None:
        """Kill everything that has left its session."""
        if self._adopts:
            orphans.kill(self._known)
        else:
            process.kill_marked(process.MARK, self._task)

    @property
    def _known(self) -> set[int]:
        """Our children that somebody waits for."""
        return {self._pid, *self._sessions}

    def close(self) -> None:
        """Kill what is left, and the guard. SIGKILL, because it may be stopped."""
        if self._sessions:
            _kill_all(self._sessions, self._task)
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._pipe)

    def _write(self, news: int | str) -> None:
        try:
            os.write(self._pipe, os.fsencode(f"{news}\n"))
        except BrokenPipeError:
            pass  # somebody killed the guard; the command can do without


def program(python: str, home: str, task: str, grace: float) -> list[str]:
    """The argv of a guard that watches its standard input; *home* is where tfmesos lies."""
    return [python, "-I", "-S", "-c", _PROGRAM, home, task, str(grace)]


def _become_guard(pipe: int, task: str) -> NoReturn:
    """Runs in the fork."""
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        close_all_but(pipe)  # others wait for the end of the runner's files
        watch(pipe, task)
    finally:
        os._exit(0)


def watch(pipe: int, task: str, grace: float = 0.0) -> NoReturn:
    """Wait for the end of *pipe*, then end the task: SIGKILL, *grace* seconds after SIGTERM."""
    try:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        with os.fdopen(pipe) as lines:
            sessions, directories = _unfinished(lines)
        if grace:
            process.signal_marked(process.MARK, [task], signal.SIGTERM)
            time.sleep(grace)
        _kill_all(sessions, task)
        for directory in directories:
            held_directory.remove(directory)
    finally:
        os._exit(0)


def _unfinished(lines: Iterable[str]) -> tuple[set[int], list[str]]:
    """The sessions that began and did not end, and the directories to remove."""
    sessions: set[int] = set()
    directories: list[str] = []
    for line in lines:
        if line.startswith("/"):
            directories.append(line[:-1])
            continue
        number = int(line)
        if number > 0:
            sessions.add(number)
        else:
            sessions.discard(-number)
    return sessions, directories


def _kill_all(sessions: Iterable[int], task: str) -> None:
    for leader in sessions:
        process.kill_session(leader)
    process.kill_marked(process.MARK, task)
