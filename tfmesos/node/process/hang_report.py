"""What a task that hangs is doing: which peers it can reach, and which lines its Python code is at.

The stack traces are printed by Python's faulthandler, which PYTHONFAULTHANDLER=1 has installed in
the processes of the task; the signal that it answers also ends them.
"""

from __future__ import annotations

import errno
import os
import signal
import socket

from ...shared import process
from ...shared import task_variables as command
from ...shared.address import split_address
from ..loop import WRITE, Loop

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...shared.wire import Message
    from ..runner_settings import Settings

PEER_TIMEOUT = 2.0  # seconds for a peer to answer
STACKS_TIME = 1.0  # seconds for the stack traces
MAX_PEERS = 64  # that are tried


def peers(start: Message, settings: Settings) -> dict[str, str]:
    """Name -> address of all other tasks of the cluster in the message *start*."""
    cluster = command.by_index(start["cluster"], start.get("starts") or {})
    tasks = {
        f"{job}:{index}": address
        for job, addresses in cluster.items()
        for index, address in addresses.items()
    }
    own = f"{settings.type}:{settings.number}"
    return {name: address for name, address in tasks.items() if name != own}


class HangReport:
    """Tries the peers (name -> address), makes Python print the traces, then calls *done*."""

    def __init__(
        self,
        loop: Loop,
        leader: int,
        peers: Mapping[str, str],
        say: Callable[[str], None],
        done: Callable[[], object],
    ) -> None:
        self._loop = loop
        self._leader = leader
        self._say = say
        self._done = done
        self._dialled: dict[str, socket.socket] = {}
        self._failed: dict[str, str] = {}
        self._reached: list[str] = []
        for name, address in list(peers.items())[:MAX_PEERS]:
            self._dial(name, address)
        loop.after(PEER_TIMEOUT, self._report)  # not before: the others are looking for us, too

    def _dial(self, task: str, address: str) -> None:
        name = f"{task} at {address}"
        host, port = split_address(address)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            connection = socket.socket(family, socket.SOCK_STREAM)
        except OSError as error:  # no file left, or no such family
            self._failed[name] = str(error.strerror)
            return
        connection.setblocking(False)
        code = connection.connect_ex((host, port))
        if code not in (0, errno.EINPROGRESS):
            connection.close()
            self._failed[name] = _reason(code)
            return
        self._dialled[name] = connection
        self._loop.watch(connection.fileno(), WRITE, lambda: self._answered(name))

    def _answered(self, name: str) -> None:
        connection = self._dialled.pop(name)
        self._loop.unwatch(connection.fileno())
        code = connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        connection.close()
        if code:
            self._failed[name] = _reason(code)
        else:
            self._reached.append(name)

    def _report(self) -> None:
        for name, connection in self._dialled.items():
            self._loop.unwatch(connection.fileno())
            connection.close()
            self._failed[name] = "no answer"
        if self._reached:
            self._say(f"reaches {', '.join(sorted(self._reached))}")
        for name, reason in sorted(self._failed.items()):
            self._say(f"cannot reach {name}: {reason}")
        self._loop.after(STACKS_TIME if _dump_stacks(self._leader) else 0, self._done)


def _reason(code: int) -> str:
    return "nothing listens there" if code == errno.ECONNREFUSED else os.strerror(code)


def _dump_stacks(leader: int) -> bool:
    """Have every Python process of the session print its stacks; False if there is none."""
    found = [pid for pid in process.members(leader) if "python" in _program(pid)]
    for pid in found:
        _forbid_core_dump(pid)
        for number in (signal.SIGABRT, signal.SIGCONT):  # it may be stopped
            try:
                os.kill(pid, number)
            except OSError:
                pass  # it has just ended
    return bool(found)


def _program(pid: int) -> str:
    try:
        return os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return ""


def _forbid_core_dump(pid: int) -> None:
    try:
        import resource  # is rarely needed

        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    except (ImportError, OSError, ValueError):
        pass
