"""Runs tasks as processes of this machine, each in a session and a sandbox of its own.

The sandbox of a task is laid out as on a genuine agent, with ``stdout`` and ``stderr`` in it:
WORK_DIR/slaves/AGENT_ID/frameworks/FRAMEWORK_ID/executors/TASK_ID/runs/CONTAINER_ID
(``runs/latest`` is a link to the newest). It stays until the work directory is removed.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .. import process
from .records import Task
from .resources import Json

_LOOK_AGAIN = 0.002  # seconds between two looks at what a killed session has left
_PATIENCE = 2.0  # seconds; what survives SIGKILL that long hangs in the kernel
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Report(Protocol):
    """Where the news of containers goes."""

    def started(self, container_id: str, pid: int) -> None: ...
    def refused(self, container_id: str, state: str, reason: str, message: str) -> None: ...
    def ended(self, container_id: str, succeeded: bool, message: str) -> None: ...


class Refusal(Exception):
    """The task cannot be started; the arguments are state, reason and message of the update."""


@dataclass
class _Container:
    process: subprocess.Popen[bytes]
    agent_id: str
    unwatch: Callable[[], None]
    killer: asyncio.TimerHandle | None = None
    patience_ends: float = 0.0

    @property
    def pid(self) -> int:
        return self.process.pid


class Containers:
    """The running tasks of every embedded agent. Must be used within its event loop only."""

    def __init__(self, work_dir: Path, report: Report) -> None:
        self._work_dir = work_dir
        self._report = report
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, Task] = {}
        self._running: dict[str, _Container] = {}
        self._terminating: list[str] = []
        self._ended: list[str] = []
        self._idle = asyncio.Event()
        self._idle.set()

    def sandbox(self, task: Task) -> Path:
        framework = self._work_dir / "slaves" / task.agent.id / "frameworks" / task.framework.id
        return framework / "executors" / task.id / "runs" / task.container_id

    def launch(self, task: Task) -> None:
        """Start *task* in the next turn of the loop, so that a hundred of them do not block it."""
        self._waiting[task.container_id] = task
        self._loop.call_soon(self._start, task.container_id)

    def kill(self, container_id: str, grace: float) -> None:
        if self._waiting.pop(container_id, None):
            message = "Killed before delivery to the executor"
            reason = "REASON_TASK_KILLED_DURING_LAUNCH"
            self._report.refused(container_id, "TASK_KILLED", reason, message)
        elif container := self._running.get(container_id):
            self._soon(self._terminating, container_id, self._terminate)
            container.killer = self._loop.call_later(grace, self._kill_now, container_id)

    def kill_agent(self, agent_id: str) -> None:
        """End everything the agent runs, as if its machine had lost power."""
        self._waiting = {i: t for i, t in self._waiting.items() if t.agent.id != agent_id}
        pids = [c.pid for c in self._running.values() if c.agent_id == agent_id]
        process.signal_sessions(pids, signal.SIGKILL)

    async def close(self, grace: float) -> None:
        """Leave no process: SIGTERM, and SIGKILL after *grace* seconds."""
        self._waiting.clear()
        process.signal_sessions([c.pid for c in self._running.values()], signal.SIGTERM)
        try:
            async with asyncio.timeout(grace):
                await self._idle.wait()
        except TimeoutError:
            pass
        finally:
            self._kill_everything()

    def _kill_everything(self) -> None:
        """Synchronous, so that no cancellation can come between."""
        pids = [container.pid for container in self._running.values()]
        deadline = self._loop.time() + _PATIENCE
        while process.signal_sessions(pids, signal.SIGKILL) and self._loop.time() < deadline:
            time.sleep(_LOOK_AGAIN)
        for container_id, container in list(self._running.items()):
            self._notice_end(container_id)
            self._finish(container_id, container)
        self._ended.clear()

    def _soon(self, batch: list[str], item: str, work: Callable[[], None]) -> None:
        """Let *work* see *item* together with all others of this turn of the loop."""
        if not batch:
            self._loop.call_soon(work)
        batch.append(item)

    def _terminate(self) -> None:
        pids = [self._running[i].pid for i in self._terminating if i in self._running]
        self._terminating.clear()
        process.signal_sessions(pids, signal.SIGTERM)

    def _kill_now(self, container_id: str) -> None:
        if container := self._running.get(container_id):
            process.signal_sessions([container.pid], signal.SIGKILL)

    def _start(self, container_id: str) -> None:
        task = self._waiting.pop(container_id, None)
        if task is None:
            return
        try:
            started = _start_process(task, self.sandbox(task))
        except Refusal as refusal:
            self._report.refused(container_id, *refusal.args)
            return
        unwatch = self._watch(started, container_id)
        self._running[container_id] = _Container(started, task.agent.id, unwatch)
        self._idle.clear()
        self._report.started(container_id, started.pid)

    def _watch(self, started: subprocess.Popen[bytes], container_id: str) -> Callable[[], None]:
        """Call _notice_end when the process ends. No child watcher: those want the main thread."""
        try:
            descriptor = os.pidfd_open(started.pid)
        except (AttributeError, OSError):  # not Linux, or an old one
            return self._watch_by_thread(started, container_id)
        self._loop.add_reader(descriptor, self._notice_end, container_id)

        def unwatch() -> None:
            self._loop.remove_reader(descriptor)
            os.close(descriptor)

        return unwatch

    def _watch_by_thread(
        self, started: subprocess.Popen[bytes], container_id: str
    ) -> Callable[[], None]:
        def wait() -> None:
            started.wait()
            try:
                self._loop.call_soon_threadsafe(self._notice_end, container_id)
            except RuntimeError:
                pass  # the loop is closed: nobody is interested any more

        threading.Thread(target=wait, daemon=True).start()
        return lambda: None

    def _notice_end(self, container_id: str) -> None:
        container = self._running.get(container_id)
        if container and container_id not in self._ended:
            container.unwatch()
            container.patience_ends = self._loop.time() + _PATIENCE
            self._soon(self._ended, container_id, self._reap)

    def _reap(self) -> None:
        """Clear away what tasks left behind, and tell that they have ended."""
        ended, self._ended = self._ended, []
        # Until it is reaped the leader's pid, which names the session, is not used again.
        crowded = process.signal_sessions([self._running[i].pid for i in ended], signal.SIGKILL)
        for container_id in ended:
            container = self._running[container_id]
            if container.pid in crowded and self._loop.time() < container.patience_ends:
                self._ended.append(container_id)
            else:
                self._finish(container_id, container)
        if self._ended:
            self._loop.call_later(_LOOK_AGAIN, self._reap)
        if not self._running:
            self._idle.set()

    def _finish(self, container_id: str, container: _Container) -> None:
        del self._running[container_id]
        if container.killer:
            container.killer.cancel()
        returncode = _reaped(container.process)
        self._report.ended(container_id, returncode == 0, exit_message(returncode))


def _reaped(killed: subprocess.Popen[bytes]) -> int:
    try:
        return killed.wait(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:  # it hangs in the kernel and dies when that lets go of it
        return -signal.SIGKILL


def exit_message(returncode: int) -> str:
    if returncode < 0:
        return f"Command terminated with signal {signal.strsignal(-returncode)}"
    return f"Command exited with status {returncode}"


def environment(task: Task, sandbox: Path) -> dict[str, str]:
    """What a genuine agent gives a command task: nothing of its own environment."""
    given = task.info["command"].get("environment", {}).get("variables", [])
    return {
        "PATH": PATH,
        "MESOS_SANDBOX": str(sandbox),
        "MESOS_DIRECTORY": str(sandbox),
        "MESOS_TASK_ID": task.id,
        "MESOS_EXECUTOR_ID": task.id,
        "MESOS_FRAMEWORK_ID": task.framework.id,
        "MESOS_SLAVE_ID": task.agent.id,
        "MESOS_ALLOCATION_ROLE": task.role,
        "MESOS_CHECKPOINT": "1" if task.framework.info.get("checkpoint") else "0",
        "LIBPROCESS_PORT": "0",
        **({"CUDA_VISIBLE_DEVICES": ",".join(task.gpu_ids)} if task.gpu_ids else {}),
        **{variable["name"]: variable.get("value", "") for variable in given},
    }


def _start_process(task: Task, sandbox: Path) -> subprocess.Popen[bytes]:
    _refuse_unsupported(task.info, task.container_id)
    _refuse_unknown_user(task.info["command"].get("user"), sandbox)
    try:
        sandbox.mkdir(mode=0o700, parents=True)
        _link_latest(sandbox)
        with open(sandbox / "stdout", "wb") as out, open(sandbox / "stderr", "wb") as err:
            return _spawn(task, sandbox, out.fileno(), err.fileno())
    except (OSError, ValueError) as error:  # ValueError: a NUL in an argument or a variable
        raise _launch_failed(str(error)) from error


def _link_latest(sandbox: Path) -> None:
    latest = sandbox.parent / "latest"
    latest.unlink(missing_ok=True)
    latest.symlink_to(sandbox.name)


def _spawn(task: Task, sandbox: Path, out: int, err: int) -> subprocess.Popen[bytes]:
    command = task.info["command"]
    value = command.get("value", "")
    if command.get("shell", True):
        program, argv = "/bin/sh", ["sh", "-c", value]
    else:
        program, argv = value, command.get("arguments") or [value]
    try:
        return _popen(program, argv, environment(task, sandbox), sandbox, out, err)
    except OSError as error:
        # Mesos learns of it only after the fork: the task runs, and exits with status 1.
        complaint = f"Failed to execute '{program}': {error.strerror}"
        argv = ["sh", "-c", 'echo "$0" >&2; exit 1', complaint]
        return _popen("/bin/sh", argv, {"PATH": PATH}, sandbox, out, err)


def _popen(
    program: str, argv: list[str], env: dict[str, str], sandbox: Path, out: int, err: int
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        executable=program,
        env=env,
        cwd=sandbox,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        start_new_session=True,
    )


def _refuse_unsupported(info: Json, container_id: str) -> None:
    container = info.get("container", {})
    image = container.get("docker", {}).get("image") or container.get("mesos", {}).get("image")
    if image or container.get("type") == "DOCKER":
        name = image if isinstance(image, str) else "given in container.mesos"
        raise _launch_failed(
            f"the embedded agent does not run images yet (image {name}); "
            "leave the image out, or run on a Mesos cluster"
        )
    if container.get("volumes"):
        raise _launch_failed("the embedded agent does not mount volumes; tasks see this machine")
    if info["command"].get("uris"):
        raise _launch_failed(
            f"Failed to fetch all URIs for container '{container_id}': "
            "the embedded agent has no fetcher"
        )


def _refuse_unknown_user(user: str | None, sandbox: Path) -> None:
    if user is None:
        return
    try:
        pwd.getpwnam(user)
    except (KeyError, ValueError):
        message = (
            f"Failed to create executor directory '{sandbox}': "
            f"Failed to chown directory to '{user}': No such user '{user}'"
        )
        raise Refusal("TASK_DROPPED", "REASON_EXECUTOR_TERMINATED", message) from None


def _launch_failed(why: str) -> Refusal:
    message = f"Failed to launch container: {why}"
    return Refusal("TASK_FAILED", "REASON_CONTAINER_LAUNCH_FAILED", message)
