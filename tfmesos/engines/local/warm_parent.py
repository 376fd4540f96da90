"""The warm parent of runners, as the launcher sees it: ``parent_process`` starts it.

A runner that is forked from it need not start Python or import anything. If there is no such parent
(yet), or it has died, runners are started by their stub, as on a cluster.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .fork_channel import MAX_MESSAGE, PLACEHOLDER, packed, unpacked
from .parent_process import parent_process
from .task_launch import Launch

_END_TIMEOUT = 2.0  # seconds for those that it has just forked to report


class Forked:
    """A runner that is not our child; behaves as a ``Popen``."""

    def __init__(self, pid: int, reap: Callable[[int], asyncio.Future[int | None]]) -> None:
        self.pid = pid
        self._reap = reap
        self.returncode: int | None = None

    async def reap(self, within: float) -> None:
        """Get its exit status, and let its parent forget it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                status = await self._reap(self.pid)
                self.returncode = None if status is None else os.waitstatus_to_exitcode(status)

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            raise subprocess.TimeoutExpired("a runner", timeout or 0.0)
        return self.returncode


class WarmParent:
    """``forked`` is called for each runner that was asked for.

    ``failed`` is called for one that could not be forked, with the number of its errno, and
    ``lost`` for one whose request died with the parent.
    """

    def __init__(self) -> None:
        """Raises OSError."""
        self.forked: Callable[[Launch, Forked], None]
        self.failed: Callable[[Launch, int], None]
        self.lost: Callable[[Launch], None]
        self._asked: dict[str, Launch] = {}
        self._unsent: deque[bytes] = deque()
        self._reaping: dict[int, asyncio.Future[int | None]] = {}
        self._process = parent_process()
        self._channel = self._process.channel
        self._channel.setblocking(False)
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(self._channel, self._read)
        self._is_open = True

    def fork(self, launch: Launch) -> bool:
        """Ask for the runner of this task; False if it cannot be asked."""
        is_short = len(os.fsencode(launch.sandbox)) < len(PLACEHOLDER)
        if not is_short or not self._say("fork", launch.task_id, launch.environment()):
            return False
        self._asked[launch.task_id] = launch
        return True

    def is_asked_for(self, task_id: str) -> bool:
        """Was this one requested, but has not been forked yet?"""
        return task_id in self._asked

    def _reap(self, pid: int) -> asyncio.Future[int | None]:
        answer = self._reaping[pid] = self._loop.create_future()
        if not self._say("reap", pid):
            answer.set_result(None)
        return answer

    def _say(self, *message: Any) -> bool:
        if self._is_open:
            self._unsent.append(packed(*message))
            self._send()
        return self._is_open

    def _send(self) -> None:
        """Send as much as it takes now, and the rest later."""
        try:
            while self._unsent:
                self._channel.send(self._unsent[0])
                self._unsent.popleft()
        except BlockingIOError:
            self._loop.add_writer(self._channel, self._send)
        except OSError:
            pass  # it has died, which we are about to hear
        else:
            self._loop.remove_writer(self._channel)

    def _read(self) -> None:
        try:
            message = self._channel.recv(MAX_MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if message:
            self._take(*unpacked(message))
        else:
            self._died()

    def _take(self, what: str, about: str | int, number: int) -> None:
        if what == "reaped":
            answer = self._reaping.pop(int(about))
            if not answer.done():
                answer.set_result(number)
        elif launch := self._asked.pop(str(about), None):
            if what == "forked":
                self.forked(launch, Forked(number, self._reap))
            else:
                self.failed(launch, number)

    def _died(self) -> None:
        """Nobody answers any more, and every fork has reported itself."""
        self._hang_up()
        self._process.kill()
        for answer in self._reaping.values():
            if not answer.done():
                answer.set_result(None)
        asked = self._asked
        self._asked = {}
        for launch in asked.values():
            self.lost(launch)

    def _hang_up(self) -> None:
        if self._is_open:
            self._is_open = False
            self._loop.remove_reader(self._channel)
            self._loop.remove_writer(self._channel)
            self._channel.close()

    def stop(self) -> None:
        """End it once all its forks are known. Synchronous."""
        if not self._is_open:
            return
        self._process.kill()
        self._channel.settimeout(_END_TIMEOUT)
        with suppress(OSError):
            while message := self._channel.recv(MAX_MESSAGE):
                self._take(*unpacked(message))
        self._asked.clear()
        self._hang_up()
