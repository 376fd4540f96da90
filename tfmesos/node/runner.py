"""The runner: what tfmesos starts on a node, the parent of the user's command.

It reports to the launcher, waits for the cluster spec, runs the command, forwards its output
and reports its end. It leaves nothing running, whatever happens to it or to the launcher.
"""

from __future__ import annotations

import os
import sys
import time

from ..errors import EVICTED, NODE_REFUSED, PORT_TAKEN, RUNNER_BROKEN
from . import command, output, process, scratch, undelivered, wire
from .child import Child
from .guard import Guard
from .link import Link
from .loop import Loop
from .outbox import Outbox, Pace
from .output import Copy, Output
from .port import reserve
from .settings import Settings, read_settings
from .stdlib import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .dead_server import Epitaph
    from .stdlib import socket
    from .tf_process import Servant

PATIENCE = 10.0  # seconds without progress after which we no longer wait for the goodbye
AFTERLIFE = 60.0  # the same, of a server that answers for itself meanwhile
KEEPS_UP = 0.25  # seconds; a launcher that takes no output for so long is not waited for
STOPPED = 128 + signal.SIGTERM


class Outcome:
    """How a step of the task ended: as a shell counts, and in words."""

    def __init__(self, code: int, reason: str) -> None:
        self.code, self.reason = code, reason


class Runner:
    """The life of one task: ``run`` goes from top to bottom, waiting in the loop.

    What may come at any time (a stop, a signal, the loss of the launcher) sets what ``run``
    looks at next, and stops the process that runs just then.
    """

    def __init__(self, loop: Loop, settings: Settings, connection: socket.socket) -> None:
        self._loop, self._settings, self._connection = loop, settings, connection
        self._outbox = Outbox()
        self._outbox.on_room = self._go_on
        self._pace = Pace()
        self._output = Output(self._outbox)
        self._link = Link(loop, settings, self._outbox, self._receive, self._stop, self._silent)
        self._start: wire.Message = {}
        self._guard: Guard | None = None
        self._child: Child | None = None
        self._servant: Servant | None = None
        self._unstarted: Outcome | None = None  # why there is no servant
        self._stop_grace: float | None = None  # seconds from SIGTERM to SIGKILL, once stopping
        self._evicted = False  # was it the agent, and not the launcher, who ended us?
        self._dismissed = False  # does the launcher know of our end?
        self._gave_up = False  # waiting for that
        self._held: int | None = None  # our hold on the directory of the embedded Mesos

    def run(self) -> int:
        """Live, and return the exit code."""
        self._loop.on_signal(signal.SIGTERM, self._evict)
        for number in (signal.SIGINT, signal.SIGHUP):  # a terminal's; the launcher decides
            self._loop.on_signal(number, lambda: None)
        try:
            outcome = self._take_part()
        finally:
            self._link.close()
            if self._servant is not None:
                self._servant.close()
            if self._guard is not None:
                self._guard.close()
        self._leave_undelivered()
        if self._link.failure is not None:
            _complain(self._link.failure[1])
            self._clear_away()
        return outcome.code

    def _leave_undelivered(self) -> None:
        """What the launcher did not take; not in a sandbox that goes when the launcher does."""
        frames = self._outbox.undelivered()
        if self._dismissed or self._settings.patient or not frames:
            return
        directory = os.environ.get("MESOS_SANDBOX") or "."
        try:
            with open(os.path.join(directory, undelivered.FILE), "wb") as file:
                file.write(undelivered.pack(self._outbox.acked, frames))
        except OSError as error:
            _complain(f"what the launcher did not take is lost: {error}")

    def _clear_away(self) -> None:
        """The embedded Mesos dies with its launcher and leaves its directory to us."""
        if self._held is not None:
            scratch.remove_unless_held(self._settings.scratch, self._held)

    def _take_part(self) -> Outcome:
        self._link.open(self._connection)
        self._loop.run_until(lambda: self._link.connected or self._stopping)
        if not self._link.connected:
            return self._stopped("was stopped before it reached the launcher")
        self._outbox.drops = not self._settings.patient
        if self._settings.scratch:
            self._held = scratch.hold(self._settings.scratch)
        try:
            reservation = reserve(self._link.family, self._settings.port)
        except OSError as error:
            reason = f"could not have port {self._settings.port}: {error.strerror}"
            return self._report(Outcome(PORT_TAKEN, reason), [])
        try:
            self._register(reservation.getsockname()[1])
            self._loop.run_until(lambda: self._start or self._stopping or self._failed_early)
            if self._stopping:
                return self._report(self._stopped("was stopped before it started"), [])
            if self._unstarted is not None:
                return self._report(self._unstarted, [])
            if self._servant is None:
                return self._work()
            return self._serve(self._servant, reservation)
        finally:
            reservation.close()

    def _register(self, port: int) -> None:
        python = "{}.{}.{}".format(*sys.version_info)
        address = {"host": self._link.host, "port": port}
        self._outbox.add({"type": "register", "pid": os.getpid(), "python": python, **address})

    def _work(self) -> Outcome:
        """The initializer, the command and the finalizer, as far as they are given."""
        argv, env, cwd = what_to_run(self._start, self._settings)
        if self._start.get("cwd_is_given") and cwd != self._start["cwd"]:
            missing = "no directory {} (its cwd) on its node".format(self._start["cwd"])
            return self._report(Outcome(1, "could not be started: " + missing), [])
        self._prepare(cwd)
        outcome = self._initialize(env, cwd) or self._step(argv, env, cwd, announce=True)
        tail = self._output.tail.lines()
        self._finalize(env, cwd)
        if self._link.failure is not None:
            outcome = Outcome(*self._link.failure)
        return self._report(outcome, tail)

    def _serve(self, servant: Servant, address: socket.socket) -> Outcome:
        """Let the TensorFlow server begin, live as long as it does, and answer for it then."""
        if self._start:
            servant.begin(what_to_serve(self._start, self._settings))
            self._loop.run_until(lambda: servant.is_ready or servant.child.ended)
        if servant.is_ready:
            self._outbox.add({"type": "ready"})
        self._loop.run_until(lambda: servant.child.ended)
        outcome = Outcome(*process.ending(servant.child.returncode))
        if servant.error:
            outcome = Outcome(outcome.code or 1, "cannot serve: " + servant.error)
        epitaph = self._bury(address, outcome.reason)
        try:
            return self._report(outcome, self._output.tail.lines(), AFTERLIFE)
        finally:
            epitaph.close()

    def _bury(self, address: socket.socket, reason: str) -> Epitaph:
        from .dead_server import Epitaph  # most tasks have a command

        text = f"{self._settings.job}:{self._settings.index} {reason}"
        return Epitaph(self._loop, address, text)

    def _hire(self, message: wire.Message) -> None:
        """Start the process of the server now: importing TensorFlow takes it seconds."""
        from .tf_process import Servant  # most tasks have a command

        self._output.forward = bool(message.get("forward", True))
        layers = (message.get("env") or {}, message.get("user_env") or {}, self._settings.mark)
        env = command.merged(os.environ, self._settings.env, *layers)
        try:
            servant = Servant(
                self._loop, self._the_guard(), env, _directory(message), self._forward
            )
        except (OSError, ValueError) as error:
            self._unstarted = Outcome(*process.could_not_start(sys.executable, error))
            return
        self._servant, self._child = servant, servant.child
        self._look_for_gpu(message)

    def _the_guard(self) -> Guard:
        """There before the first process that it is to end; OSError if it cannot be had."""
        if self._guard is None:
            self._guard = Guard(self._settings.task)
        return self._guard

    @property
    def _failed_early(self) -> bool:
        if self._servant is None:
            return self._unstarted is not None
        return self._servant.child.ended

    def _prepare(self, cwd: str) -> None:
        self._output.forward = bool(self._start.get("forward", True))
        if self._start.get("cwd") not in (None, cwd) and not self._start.get("in_image"):
            text = "no directory {} on this node; running in {}"
            self._output.say(text.format(self._start["cwd"], cwd))
        self._look_for_gpu(self._start)
        if self._start.get("copy_to"):
            prefix = f"[{self._settings.job}:{self._settings.index}] "
            try:
                self._output.copy = Copy(self._loop, self._start["copy_to"], prefix)
            except (OSError, ValueError) as error:
                self._output.say("no copy to {}: {}".format(self._start["copy_to"], error))

    def _look_for_gpu(self, message: wire.Message) -> None:
        if message.get("no_gpu") and not sees_gpu():
            self._output.say(message["no_gpu"])

    def _initialize(self, env: dict[str, str], cwd: str) -> Outcome | None:
        """What ends the task before its command, if anything does."""
        if self._start.get("initializer"):
            outcome = self._step(self._shell(self._start["initializer"]), env, cwd)
            if outcome.code:
                return Outcome(outcome.code, "its initializer " + outcome.reason)
        return self._stopped("was stopped before its command") if self._stopping else None

    def _finalize(self, env: dict[str, str], cwd: str) -> None:
        """Runs whatever came before; when we are to stop, not longer than the grace time."""
        if not self._start.get("finalizer") or self._stop_grace == 0:
            return
        if self._stop_grace is not None:
            self._loop.after(self._stop_grace, self._kill)
        outcome = self._step(self._shell(self._start["finalizer"]), env, cwd)
        if outcome.code:
            self._output.say("the finalizer " + outcome.reason)

    def _shell(self, script: str) -> list[str]:
        settings = self._settings
        return command.argv(
            script, command.placeholders(self._start["cluster"], settings.job, settings.index)
        )

    def _step(
        self, argv: Sequence[str], env: dict[str, str], cwd: str, announce: bool = False
    ) -> Outcome:
        killed_before = oom_kills()
        try:
            child = Child(self._loop, self._the_guard(), argv, env, cwd, self._forward)
        except (OSError, ValueError) as error:
            return Outcome(*process.could_not_start(argv[0], error))
        if announce:
            self._outbox.add({"type": "ready"})
            self._output.begin()
        self._child = child
        self._loop.run_until(lambda: child.ended)
        self._child = None
        code, reason = process.ending(child.returncode)
        if code and oom_kills() > killed_before:
            reason = "ran out of memory and " + reason
        return Outcome(code, reason)

    def _report(self, outcome: Outcome, tail: list[str], patience: float = PATIENCE) -> Outcome:
        """Tell the launcher how it ended, and wait until it knows."""
        process.kill_marked(process.MARK, self._settings.task)  # daemons that left the session
        if self._output.copy is not None:
            self._output.copy.close()
        if self._evicted:  # a command that ends well then has not done its work all the same
            reason = f"{EVICTED}: it {outcome.reason}"
            outcome = Outcome(outcome.code or STOPPED, reason)
        reason = outcome.reason.encode("utf-8", "backslashreplace").decode("utf-8")
        is_ours = self._stopping and not self._evicted
        report = {"type": "exit", "code": outcome.code, "reason": reason, "tail": tail}
        self._outbox.add(dict(report, stopped=is_ours))
        if not self._settings.patient:
            self._wait_patiently(-1, patience)
        self._loop.run_until(lambda: self._dismissed or self._gave_up or self._link.failure)
        return outcome

    def _wait_patiently(self, acked: int, patience: float) -> None:
        """Wait on as long as the launcher takes frames; a broken link has its own patience."""
        if acked == self._outbox.acked and self._link.connected:
            self._gave_up = True
        acked = self._outbox.acked
        self._loop.after(patience, lambda: self._wait_patiently(acked, patience))

    # What may come at any time:

    def _receive(self, message: wire.Message) -> None:
        kind = message.get("type")
        if kind == "prepare" and self._servant is None and self._unstarted is None:
            self._hire(message)
        elif kind == "start":
            self._start = self._start or message
        elif kind == "stop" and message.get("examine") and self._child is not None:
            self._examine(self._child, float(message["grace"]))
        elif kind == "stop":
            self._stop(float(message["grace"]))
        elif kind == "bye":
            self._dismissed = True

    def _evict(self) -> None:
        self._evicted = self._evicted or not self._stopping
        self._stop()

    def _stop(self, grace: float | None = None) -> None:
        """Stop what runs. Called again, it can only become faster."""
        grace = self._settings.stop_grace if grace is None else max(grace, 0.0)
        if self._stop_grace is None or grace < self._stop_grace:
            self._stop_grace = grace
            if self._child is not None:
                self._child.stop(grace)

    def _examine(self, child: Child, grace: float) -> None:
        """Tell what the command is doing, and stop it then."""
        from .hang_report import Examination  # is rarely needed

        self._output.forward = True
        me = f"{self._settings.job}:{self._settings.index}"
        cluster = command.by_index(self._start["cluster"], self._start.get("starts") or {})
        everybody = {
            f"{job}:{index}": address
            for job, addresses in cluster.items()
            for index, address in addresses.items()
        }
        peers = {name: address for name, address in everybody.items() if name != me}
        Examination(self._loop, child.pid, peers, self._output.say, lambda: self._stop(grace))

    def _forward(self, stream: str, data: bytes) -> None:
        """Output of the command. One that writes too fast for the launcher waits for a moment."""
        self._output.take(stream, data)
        if self._outbox.is_full and self._child is not None:
            if self._settings.patient:
                self._child.pause()
            elif self._pace.is_fast(self._outbox.taken, time.monotonic()):
                self._child.pause(KEEPS_UP)

    def _silent(self) -> int:
        """Seconds in which the command could write and did not."""
        is_held = self._child is not None and self._child.is_paused
        return 0 if is_held else self._output.silent()

    def _go_on(self) -> None:
        if self._child is not None:
            self._child.resume()

    def _kill(self) -> None:
        if self._child is not None:
            self._child.kill()

    @property
    def _stopping(self) -> bool:
        return self._stop_grace is not None

    def _stopped(self, reason: str) -> Outcome:
        return Outcome(*(self._link.failure or (STOPPED, reason)))


def what_to_run(start: wire.Message, settings: Settings) -> tuple[list[str], dict[str, str], str]:
    """The argv, the environment and the directory of the command of this task."""
    task = (start["cluster"], settings.job, settings.index)
    argv = command.argv(start["command"], command.placeholders(*task))
    always = start.get("tf_config") == "always"
    env = command.merged(
        os.environ,
        settings.env,
        start.get("env") or {},
        command.environment(*task, is_whole=not start.get("starts"), always=always),
        start.get("user_env") or {},
        settings.mark,
    )
    return argv, env, _directory(start)


def what_to_serve(start: wire.Message, settings: Settings) -> dict[str, object]:
    """What the TensorFlow server of this task is told."""
    return {
        "cluster": command.by_index(start["cluster"], start.get("starts") or {}),
        "job": settings.job,
        "index": settings.index,
        **start["serve"],
    }


def _directory(message: wire.Message) -> str:
    """Where the launcher was started, if the task may be there; else the sandbox, likewise."""
    for place in (message.get("cwd"), os.environ.get("MESOS_SANDBOX")):
        if place and os.path.isdir(place) and os.access(place, os.X_OK):
            return str(place)
    return os.getcwd()


def oom_kills() -> int:
    """How often the kernel killed for memory in our container; 0 where it does not tell."""
    for name in ("memory.events", "memory/memory.oom_control"):  # cgroups v2 and v1
        try:
            with open("/sys/fs/cgroup/" + name) as file:
                return sum(int(line[9:]) for line in file if line.startswith("oom_kill "))
        except (OSError, ValueError):
            pass
    return 0


def sees_gpu() -> bool:
    """Is there a driver to load, and a device?"""
    import ctypes

    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return os.path.exists("/dev/nvidiactl")


def _complain(text: str) -> None:
    output.write(2, f"tfmesos runner: {text}\n".encode("utf-8", "backslashreplace"))


def main(stub: Sequence[str], connection: socket.socket) -> int:
    """The exit code of the task, which *stub* has begun: its settings and its connection."""
    try:
        with Loop() as loop:
            return Runner(loop, read_settings(stub, os.environ), connection).run()
    except OSError as error:  # files, processes or memory are short: no fault of ours
        sys.excepthook(*sys.exc_info())
        _complain(f"the node refused what the runner needs: {error.strerror}")
        return NODE_REFUSED
    except Exception:
        sys.excepthook(*sys.exc_info())
        return RUNNER_BROKEN
