"""Many runs on one master in virtual time: all that decides is real, all that waits is not.

The launchers' Lifecycle and the embedded master's MasterState exchange their real actions,
calls and events; only the network, the processes and the clock are made up.
"""

from __future__ import annotations

import base64
import heapq
import random
from collections.abc import Callable
from itertools import count
from typing import Any
from uuid import UUID

from tests.builders import workers
from tests.mesos.embedded import Timing, resources
from tests.mesos.embedded.effects import End, Kill, Launch, Send
from tests.mesos.embedded.state import MasterState
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.outcome import Outcome
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos.decode import translate
from tfmesos.engines.mesos.engine import MesosEngine
from tfmesos.engines.mesos.task_info import command_info, framework_info, task_info
from tfmesos.launcher.deciders import Deciders

INFO = {"id": "M", "port": 5050, "address": {"hostname": "h", "ip": "127.0.0.1", "port": 5050}}


class Clock:
    """What is due when; among what is due at the same time, the first put in comes first."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, when: float, work: Callable[[], None]) -> None:
        heapq.heappush(self._due, (max(when, self.now), next(self._numbers), work))

    def run(self, until: Callable[[], bool], limit: float) -> None:
        while not until():
            when, _, work = heapq.heappop(self._due)
            assert when < limit, f"not done at {limit}"
            self.now = when
            work()


class Wire:
    """One direction of a connection: everything arrives, in order, a random time later."""

    def __init__(self, clock: Clock, delay: Callable[[], float]) -> None:
        self._clock, self._delay, self._last = clock, delay, 0.0

    def send(self, work: Callable[[], None]) -> None:
        self._last = max(self._last, self._clock.now + self._delay())
        self._clock.at(self._last, work)


class World:
    """A master with its agents, and the runs on it."""

    def __init__(self, seed: int, *agents: str, delay: float = 0.02) -> None:
        self.random = random.Random(seed)
        self.clock = Clock()
        self._delay = delay
        numbers = count(1)
        self.master = MasterState(INFO, lambda: UUID(int=next(numbers)), Timing())
        self._runs: dict[str, VirtualRun] = {}
        self._ticked_for = 0.0
        for number, text in enumerate(agents):
            amount = resources.parse(text)
            self.master.add_agent(f"node-{number}", amount, [], self.clock.now)

    def wire(self) -> Wire:
        return Wire(self.clock, lambda: self.random.uniform(0, self._delay))

    def wait_for_all(self, seconds: float) -> None:
        """Let time pass until every run has ended."""
        runs = self._runs.values()
        self.clock.run(lambda: all(run.outcome for run in runs), self.clock.now + seconds)

    def start_run(self, name: str, at: float, lasting: float, **job: Any) -> VirtualRun:
        run = VirtualRun(self, name, lasting, **job)
        self._runs[name] = run
        self.clock.at(self.clock.now + at, run.begin)
        return run

    def input(self, effects: list[Any]) -> None:
        """What the master wants done after an input, in order."""
        for effect in effects:
            match effect:
                case Send(stream, event):
                    self._runs[stream].sent(event)
                case End():
                    pass
                case Launch(task):
                    self._runs[task.framework.stream].launched(task)
                case Kill(container_id, _):
                    self.ended(container_id)
        self._arm()

    def ended(self, container_id: str) -> None:
        """Its process is gone, a moment later."""
        message = "Command exited with status 0"
        self.wire().send(
            lambda: self.input(self.master.task_ended(container_id, True, message, self.clock.now))
        )

    def _arm(self) -> None:
        due = self.master.next_tick()
        if due is not None and due != self._ticked_for:
            self._ticked_for = due
            self.clock.at(due, lambda: self.input(self.master.tick(self.clock.now)))


class VirtualRun:
    """One launcher with its runners."""

    def __init__(self, world: World, name: str, lasting: float, **job: Any) -> None:
        self._world, self._name, self._lasting = world, name, lasting
        self._config = LaunchConfig(jobs=(workers(**job),), name=name)
        self._calls, self._events = world.wire(), world.wire()
        self._containers: dict[str, str] = {}
        self.started = self.finished = 0.0
        self.outcome: Outcome | None = None
        self._framework_id = ""

    def begin(self) -> None:
        world, clock = self._world, self._world.clock
        lifecycle = Lifecycle(self._config.tasks, self._name, clock.now)
        self._deciders = Deciders(lifecycle, MesosEngine(world.random.random))
        info = framework_info(self._config, self._name, "here")
        call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": info}}
        self._calls.send(
            lambda: world.input(world.master.subscribe(call, self._name, None, clock.now))
        )
        self._arm()

    # From the master

    def sent(self, event: dict[str, Any]) -> None:
        self._events.send(lambda: self._take(event))

    def _take(self, event: dict[str, Any]) -> None:
        if event["type"] == "SUBSCRIBED":
            self._framework_id = event["subscribed"]["framework_id"]["value"]
        if status := event.get("update", {}).get("status", {}):
            uuid = base64.b64decode(status["uuid"]) if "uuid" in status else b""
            ids = {"task_id": status["task_id"], "agent_id": status["agent_id"]}
            self._call("ACKNOWLEDGE", **ids, uuid=uuid)
        translated = translate(event)
        if translated is not None:
            self.handle(translated)

    def launched(self, task: Any) -> None:
        world, clock = self._world, self._world.clock
        self._containers[task.id] = task.container_id

        def start() -> None:
            world.input(world.master.task_started(task.container_id, 7, clock.now))
            self._events.send(lambda: self.handle(happened.TaskRegistered(task.id, "h:1", 1)))

        world.wire().send(start)

    # To the master

    def _call(self, kind: str, **body: Any) -> None:
        world = self._world
        call = {"type": kind, kind.lower(): body} if body else {"type": kind}

        def arrive() -> None:
            framework = world.master.frameworks.get(self._framework_id)
            if framework is not None:
                world.input(world.master.handle(framework, call, world.clock.now))

        self._calls.send(arrive)

    # The run itself

    def handle(self, event: happened.Event) -> None:
        for action in self._deciders.handle(event, self._world.clock.now):
            self._do(action)
        self._arm()

    def _arm(self) -> None:
        due = self._deciders.deadline
        if due is not None:
            self._world.clock.at(due, self._tick)

    def _tick(self) -> None:
        due = self._deciders.deadline
        if due is not None and due <= self._world.clock.now:
            self.handle(happened.Ticked())

    def _do(self, action: do.Action) -> None:
        match action:
            case calls.Launch(agent_id, _, offer_ids, seats):
                infos = [
                    task_info(self._config, "run", task_id, agent_id, seat, command_info("x", {}))
                    for task_id, seat in seats
                ]
                operation = {"type": "LAUNCH", "launch": {"task_infos": infos}}
                self._call(
                    "ACCEPT",
                    offer_ids=[{"value": each} for each in offer_ids],
                    operations=[operation],
                    filters={"refuse_seconds": 3600.0},
                )
            case calls.Decline(offer_ids, seconds, _):
                offers = [{"value": each} for each in offer_ids]
                self._call("DECLINE", offer_ids=offers, filters={"refuse_seconds": seconds})
            case calls.Suppress():
                self._call("SUPPRESS")
            case calls.Revive():
                self._call("REVIVE")
            case do.Start(tasks):
                self.started = self._world.clock.now
                for task_id, _ in tasks:
                    self._work(task_id)
            case do.StopRunner(task_id):
                self._exit(task_id)
            case do.Finish(outcome):
                self.outcome, self.finished = outcome, self._world.clock.now
                self._call("TEARDOWN")

    def _work(self, task_id: str) -> None:
        clock = self._world.clock
        self._events.send(lambda: self.handle(happened.TaskReady(task_id)))
        clock.at(clock.now + self._lasting, lambda: self._exit(task_id))

    def _exit(self, task_id: str) -> None:
        self._events.send(lambda: self.handle(happened.TaskExited(task_id, 0, "exited with 0")))
        self._world.ended(self._containers[task_id])
