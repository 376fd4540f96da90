"""The runner: what tfmesos starts on a node, the parent of the user's command.

It reports to the launcher, waits for the cluster spec, runs the command, forwards its output
and reports its end. It leaves nothing running, whatever happens to it or to the launcher.
"""

from __future__ import annotations

import os
import sys
import time

from ..errors import EVICTED
from ..shared import held_directory, process, wire
from ..shared.exit_status import after_out_of_memory
from ..shared.link_timeouts import DEAD_SERVER_TIMEOUT, GOODBYE_TIMEOUT, OUTPUT_PAUSE
from ..shared.stdlib import signal, socket
from .link.connection import Link
from .link.outbox import Outbox
from .link.pace import Pace
from .loop import Loop
from .process import output
from .process.child import Child
from .process.guard import Guard
from .process.output import Output
from .process.usage_meter import Usage
from .task import host, workspace
from .task.files import Files
from .task.port import Port, refusal
from .task.readiness import tell_ready
from .task.runner_secrets import RunnerSecrets
from .task.steps import STOPPED, Steps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..shared.process import Ending
    from ..shared.wire import Message
    from .inside.channels import Channels
    from .runner_settings import Settings
    from .task.start_tf_server import ServerProcess


class Runner:
    """The life of one task: ``run`` goes from top to bottom, waiting in the loop.

    What may happen at any time (a stop, a signal, the loss of the launcher) sets what ``run`` looks
    at next, and stops the running process.
    """

    def __init__(self, loop: Loop, settings: Settings, connection: socket.socket | None) -> None:
        self._loop = loop
        self._settings = settings
        self._connection = connection
        self._outbox = Outbox()
        self._outbox.on_room = self._resume_output
        self._pace = Pace()
        self._output = Output(self._outbox)
        self._usage = Usage(loop, settings.task)
        self._link = Link(loop, settings, self._outbox, self._receive, self._stop, self._heartbeat)
        self._workspace = workspace.Workspace(settings, self._get_guard)
        self._files = Files(loop, self._link, settings)
        self._secrets = RunnerSecrets(loop, settings, self._get_guard, self._output.say)
        self._start: Message = {}
        self._guard: Guard | None = None
        self._child: Child | None = None
        self._server: ServerProcess | None = None
        self._not_started: Ending | None = None  # why there is no server
        self._stop_grace: float | None = None  # seconds from SIGTERM to SIGKILL, once stopping
        self._evicted = False  # was it the node, and not the launcher, that stopped us?
        self._was_stopped = False  # by the launcher, when it ended
        self._continued = False  # has its owner seen enough of a task that is held?
        self._dismissed = False  # does the launcher know of our end?
        self._gave_up = False  # waiting for that
        self._channels: Channels | None = None  # once somebody wanted to look inside
        self._place: tuple[Mapping[str, str], str] | None = None  # variables and directory
        self._held: int | None = None  # our hold on the directory of the embedded Mesos

    def run(self) -> int:
        """Run the task, and return its exit code."""
        self._loop.on_signal(signal.SIGTERM, self._evict)
        for number in (signal.SIGINT, signal.SIGHUP):  # a terminal's; the launcher decides
            self._loop.on_signal(number, lambda: None)
        try:
            code, _ = self._run_task()
        finally:
            self._secrets.remove()
            self._workspace.remove()
            self._link.close()
            if self._server is not None:
                self._server.close()
            if self._guard is not None:
                self._guard.close()
        is_fetched = self._settings.has_directory and not self._settings.same_machine
        if not self._dismissed and is_fetched:
            from ..shared import undelivered  # is rarely needed

            frames = self._outbox.undelivered()
            undelivered.leave(self._outbox.acked, frames, output.complain)
        if self._link.failure is not None:
            output.complain(self._link.failure[1])
            if self._held is not None:  # the embedded Mesos leaves its directory to us
                held_directory.remove_unless_held(self._settings.scratch, self._held)
        # For the operator a task that its own run has stopped has not failed.
        return 0 if self._was_stopped and self._dismissed else code

    def _run_task(self) -> Ending:
        self._link.open(self._connection)
        self._loop.run_until(lambda: self._link.connected or self._stopping)
        if not self._link.connected:
            return self._stopped("was stopped before it reached the launcher")
        self._outbox.drops = not self._settings.same_machine
        if self._settings.scratch:
            self._held = held_directory.hold(self._settings.scratch)
        problem = self._workspace.open() or self._secrets.bring(lambda: self._stopping)
        problem = problem or self._files.fetch(lambda: self._stopping)
        if problem := problem or self._check():
            return self._report(problem, [])
        try:
            family = socket.AF_INET if self._settings.is_private else self._link.family
            port = Port(family, self._settings.port, self._settings.port_is_wish)
        except OSError as error:
            return self._report(refusal(self._settings.port, error), [])
        with port:
            return self._run_at(port)

    def _check(self) -> Ending | None:
        """Returns why this node is unfit, if it is."""
        if not self._settings.check or self._stopping:
            return None
        from .task.node_check import check  # most runs have none

        settings = self._settings
        env = {**os.environ, **settings.env, **settings.check_env, **settings.mark}
        return check(self._loop, self._get_guard(), settings.check, env, lambda: self._stopping)

    def _run_at(self, port: Port) -> Ending:
        """Register with this port, wait for the start, and run the command or the server."""
        self._port = port.number
        self._register(self._port)
        self._loop.run_until(lambda: self._start or self._stopping or self._server_failed)
        if self._stopping:
            return self._report(self._stopped("was stopped before it started"), [])
        if self._not_started is not None:
            return self._report(self._not_started, [])
        if port.remark:
            self._output.say(port.remark)
        if self._server is not None:
            return self._run_server(self._server, port.socket)
        if self._start.get("releases_port"):
            port.release()
        return self._run_command()

    def _register(self, port: int) -> None:
        python = ".".join(map(str, sys.version_info[:3]))
        at = "127.0.0.1" if self._settings.is_private else self._link.host
        where = {"host": at, "port": port, **self._workspace.remark, **host.node()}
        self._outbox.add({"type": "register", "pid": os.getpid(), "python": python, **where})

    def _run_command(self) -> Ending:
        """Run the initializer, the command and the finalizer, as far as they are given."""
        cwd, wanted = workspace.of_command(self._start, self._settings.env)
        if self._start.get("cwd_is_given") and cwd != wanted:
            missing = f"its working directory {wanted} does not exist"
            return self._report((1, f"could not be started: {missing}"), [])
        self._prepare(cwd, wanted)
        steps = Steps(self._start, self._settings.type, self._settings.number)
        mark = {**self._settings.mark, **self._secrets.environment}
        env = steps.environment({**os.environ, **self._settings.env}, mark)
        self._place = ({**env, **self._secrets.of_command}, cwd)
        tail: list[str] = []
        while name := steps.next(self._stop_grace):
            own = self._secrets.of_command if name == "command" else {}
            steps.ended(name, self._run_step(name, steps.argv(name), {**env, **own}, cwd))
            if name != "finalizer":
                tail = self._output.tail.lines()
                self._hold(steps.ending)
        assert steps.ending is not None
        if self._settings.bring:
            from .task.collection import Bring  # most tasks bring nothing

            bring = Bring(self._loop, self._outbox, self._settings, self._is_cut, self._output.say)
            bring.send(cwd, [steps.filled(glob) for glob in self._settings.bring])
        return self._report(self._link.failure or steps.ending, tail)

    def _hold(self, ending: Ending | None) -> None:
        """Hold the failed task, so that the owner of the run can look inside."""
        if not self._settings.pause or ending is None or not ending[0] or self._stopping:
            return
        reason = ending[1].encode("utf-8", "backslashreplace").decode("utf-8")
        self._outbox.add({"type": "held", "reason": reason})
        timer = self._loop.after(self._settings.pause, self._continue)
        self._loop.run_until(lambda: self._continued or self._stopping or self._link.failure)
        timer.cancel()

    def _continue(self) -> None:
        self._continued = True

    def _prepare(self, cwd: str, wanted: str) -> None:
        start = self._start
        self._output.begin_with(start, self._loop, self._link.tell, f"[{self._settings.name}] ")
        if wanted not in ("", cwd) and not start.get("in_image"):
            self._output.say(f"no directory {wanted} on this node; running in {cwd}")
        self._look_for_gpu(start)

    def _look_for_gpu(self, message: Message) -> None:
        if message.get("no_gpu") and not host.sees_gpu():
            self._output.say(message["no_gpu"])

    def _run_step(self, name: str, argv: Sequence[str], env: dict[str, str], cwd: str) -> Ending:
        killed_before = host.oom_kills()
        try:
            child = Child(self._loop, self._get_guard(), argv, env, cwd, self._take_output)
        except (OSError, ValueError) as error:
            code, reason = process.could_not_start(argv[0], error)
        else:
            self._step_began(name, child)
            self._usage.began(child.pid, env, self._get_guard())
            self._loop.run_until(lambda: child.ended)
            self._child = None
            self._usage.ended()
            code, reason = process.ending(child.returncode)
        if code and host.oom_kills() > killed_before:
            reason = after_out_of_memory(reason)
        if code and name == "finalizer":
            self._output.say(f"the finalizer {reason}")
        return code, reason

    def _step_began(self, name: str, child: Child) -> None:
        self._child = child
        if name == "command":
            self._output.begin()
            tell_ready(self._loop, self._settings, self._port, child, self._outbox)
        elif name == "finalizer" and self._stop_grace is not None:
            self._loop.after(self._stop_grace, child.kill)

    def _run_server(self, server: ServerProcess, reservation: socket.socket) -> Ending:
        """Let the TensorFlow server start, wait for its end, and then answer for it."""
        if self._start:
            server.serve(self._start)
            self._loop.run_until(lambda: server.is_ready or server.child.ended)
        self._place = (server.env, server.cwd)
        if server.is_ready:
            self._outbox.add({"type": "ready"})
        self._usage.began(server.child.pid, server.env, self._get_guard())
        self._loop.run_until(lambda: server.child.ended)
        self._usage.ended()
        code, reason = process.ending(server.child.returncode)
        if server.error:
            code, reason = code or 1, f"cannot serve: {server.error}"
        return self._report_and_answer(reservation, (code, reason))

    def _report_and_answer(self, reservation: socket.socket, ending: Ending) -> Ending:
        from .task.dead_server import DeadServer  # most tasks have a command

        dead = DeadServer(self._loop, reservation, f"{self._settings.name} {ending[1]}")
        try:
            return self._report(ending, self._output.tail.lines(), DEAD_SERVER_TIMEOUT)
        finally:
            dead.close()

    def _start_server(self, message: Message) -> None:
        """Start the process of the server now: importing TensorFlow takes it seconds."""
        from .task.start_tf_server import ServerProcess  # most tasks have a command

        self._output.forward = bool(message.get("forward", True))
        try:
            server = ServerProcess(
                self._loop,
                self._get_guard(),
                self._settings,
                message,
                self._secrets,
                self._take_output,
            )
        except (OSError, ValueError) as error:
            self._not_started = process.could_not_start(sys.executable, error)
            return
        self._server = server
        self._child = server.child
        self._look_for_gpu(message)

    @property
    def _server_failed(self) -> bool:
        """Report a server that failed before the start."""
        if self._server is None:
            return self._not_started is not None
        return self._server.child.ended

    def _get_guard(self) -> Guard:
        """Starts it before the first process that it may have to end; OSError if that fails."""
        if self._guard is None:
            self._guard = Guard(self._settings.task, adopts=True)
        return self._guard

    def _report(self, ending: Ending, tail: list[str], timeout: float = GOODBYE_TIMEOUT) -> Ending:
        """Tell the launcher how it ended, and wait until it knows."""
        self._place = None
        if self._channels is not None:
            self._channels.cut()
        if self._guard is not None:
            self._guard.kill_orphans()  # daemons that left the session
        self._files.remove()
        self._secrets.remove()
        self._workspace.remove()
        if self._output.copy is not None:
            self._output.copy.close()
        code, reason = ending
        if self._evicted:  # a command that ends well then has not done its work all the same
            code, reason = code or STOPPED, f"{EVICTED}: it {reason}"
        text = reason.encode("utf-8", "backslashreplace").decode("utf-8")
        is_ours = self._was_stopped = self._stopping and not self._evicted
        report = {"type": "exit", "code": code, "reason": text, "tail": tail, "stopped": is_ours}
        self._outbox.add({**report, **host.node()})
        if not self._settings.same_machine:
            self._give_up_without_progress(-1, timeout)
        self._loop.run_until(lambda: self._dismissed or self._gave_up or self._link.failure)
        return code, reason

    def _give_up_without_progress(self, acked: int, timeout: float) -> None:
        """Keep waiting as long as the launcher takes frames; a broken link has its own timeout."""
        if acked == self._outbox.acked and self._link.connected:
            self._gave_up = True
        acked = self._outbox.acked
        self._loop.after(timeout, lambda: self._give_up_without_progress(acked, timeout))

    # What may come at any time:

    def _receive(self, message: Message) -> None:
        kind = message.get("type")
        if kind == "prepare" and self._server is None and self._not_started is None:
            self._start_server(message)
        elif kind == "piece":
            self._files.receive(message)
        elif kind == "start":
            self._start = self._start or message
        elif kind == "stop" and message.get("examine") and self._child is not None:
            self._report_hang(self._child, float(message["grace"]))
        elif kind == "stop":
            self._stop(float(message["grace"]))
        elif kind == "continue":
            self._continue()
        elif kind == "bye":
            self._dismissed = True
        elif kind in wire.OF_CHANNELS:
            self._let_in(message)

    def _let_in(self, message: Message) -> None:
        """Serve a request of the owner inside the task, over a channel."""
        from .inside.channels import Channels  # is rarely needed
        from .inside.surroundings import Surroundings

        if self._channels is None:
            self._channels = Channels()
            self._link.beside = self._channels
        surroundings = None
        if self._place is not None:
            env, cwd = self._place
            surroundings = Surroundings(
                self._loop,
                self._settings,
                self._get_guard,
                env,
                cwd,
                self._link.host,
                self._output,
            )
        self._channels.receive(message, surroundings)

    def _evict(self) -> None:
        self._evicted = self._evicted or not self._stopping
        self._stop()

    def _stop(self, grace: float | None = None) -> None:
        """Stop what runs. A later call can only shorten the grace time."""
        grace = self._settings.stop_grace if grace is None else max(grace, 0.0)
        if self._stop_grace is None or grace < self._stop_grace:
            self._stop_grace = grace
            if self._child is not None:
                self._child.stop(grace, self._settings.stop_signal)

    def _report_hang(self, child: Child, grace: float) -> None:
        """Report what the command is doing, then stop it."""
        from .process import hang_report  # is rarely needed

        self._output.forward = True
        peers = hang_report.peers(self._start, self._settings)
        hang_report.HangReport(
            self._loop, child.pid, peers, self._output.say, lambda: self._stop(grace)
        )

    def _take_output(self, stream: str, data: bytes) -> None:
        """Pass it on. A command that writes too fast for the launcher waits for a moment."""
        self._output.take(stream, data)
        if self._outbox.is_full and self._child is not None:
            if self._settings.same_machine:
                self._child.pause()
            elif self._pace.is_fast(self._outbox.taken, time.monotonic()):
                self._child.pause(OUTPUT_PAUSE)

    def _resume_output(self) -> None:
        if self._child is not None:
            self._child.resume()

    def _heartbeat(self) -> Message:
        """Report for how long the command has been silent, and what it uses."""
        may_write = self._child is not None and not self._child.is_paused
        silent = self._output.silent() if may_write else 0
        return {"silent": silent, "usage": self._usage.measure()}

    def _is_cut(self) -> bool:
        """Is it impossible, or too late, to send anything else?"""
        return self._link.failure is not None or self._stop_grace == 0

    @property
    def _stopping(self) -> bool:
        return self._stop_grace is not None

    def _stopped(self, reason: str) -> Ending:
        return self._link.failure or (STOPPED, reason)
