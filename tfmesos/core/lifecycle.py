"""The whole life of a run: everything that decides about it is here; nothing here does I/O.

``Lifecycle.handle(event, now)`` changes the state and returns what is to be done. A run passes
through the phases of ``Phase`` in their order, and back to STARTING only when all tasks are
started again; each task passes through the stages of ``tasks.Stage``, and back to WAITING when it
is launched again. Places for the tasks come from an engine, which has a decider of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..config.job import Task
from ..config.jobs import tasks_of
from ..errors import NODE_UNFIT, Interrupted, ResourcesError, TFMesosError
from . import actions as do
from . import auxiliary, held_tasks
from . import events as happened
from .actions import Action
from .avoided_nodes import AvoidedNodes
from .clocks import Clocks
from .cluster import Cluster
from .endings import End, Endings, Heard
from .finished_peers import FinishedPeers
from .generations.growth import Growth
from .generations.notices import Notices, error_of
from .generations.rolling import Rolling
from .generations.sequence import Generations
from .hangs import Hangs
from .node_warning import node_warning
from .outcome import Ending, Outcome
from .phases import Phase
from .placing import Placing
from .requested_restarts import RequestedRestarts
from .restarts import Restart, Restarts
from .rules import USUAL_RULES, Rules
from .stopping import Stopping
from .stopwatch import Stopwatch
from .success import Success
from .tasks import Member, Stage, Tasks
from .time_limit import TimeLimit
from .waiting import Wait


class Lifecycle:
    def __init__(
        self, tasks: Sequence[Task], run_id: str, now: float, rules: Rules = USUAL_RULES
    ) -> None:
        self.members = Tasks(tasks, run_id)
        if rules.local is not None:
            self.members.add_local(*rules.local)
        self.phase = Phase.STARTING
        self._cluster = Cluster(self.members)
        self._stopping = Stopping(
            self.members, now, rules.has_finalizer, rules.stop_grace, rules.tensorboard_stays
        )
        self._endings = Endings(self.members, self._stopping, rules.nodes_alike)
        self._restarts = Restarts(rules.restarts)
        self.generations = Generations(tasks)
        self._growth = Growth(self.members, self.generations, rules.grow_every)
        self._notices = Notices(rules.restarts.after_start)
        self._avoided_nodes = AvoidedNodes()
        self._restarted: list[Ending] = []
        self._hangs = Hangs(rules.hang_timeout, self._commands_awaited, rules.hang_of_any)
        self._peers = FinishedPeers(self.members, self._commands_awaited, self._hangs)
        self._success = Success(tasks, rules.success, rules.evaluator_grace)
        self._wait = Wait(self.members, rules.start_timeout, now)
        self._time_limit = TimeLimit(rules.run_timeout, now, rules.checkpoint_before)
        self._stopwatch = Stopwatch(now)
        self._placing = Placing(
            self.members, self._avoided_nodes, self._stopwatch, rules.elastic_hold
        )
        self._requested = RequestedRestarts(self.members, self._restarts, self._stopping)
        self._rolling = Rolling(
            self.members, self.generations, self._requested, self._placing, self._wait
        )
        self._clocks: Clocks[Action] = Clocks(
            (lambda: self._restarts.deadline, self._launch_again),
            (lambda: self._rolling.deadline_in(self.phase), self._rolling.tick),
            (self._wait_deadline, self._tick_wait),
            (lambda: self._endings.deadline, self._tick_endings),
            (lambda: self._success.deadline_in(self.phase), self._succeed),
            (lambda: self._hangs.deadline, self._tick_hangs),
            (lambda: self._peers.deadline, self._peers.tick),
            (lambda: self._time_limit.deadline_in(self.phase), self._tick_time_limit),
            (lambda: self._growth.deadline_in(self.phase), self._growth.look),
            (lambda: self._stopping.deadline_in(self.phase), self._tick_stopping),
        )

    @property
    def deadline(self) -> float | None:
        """When ``Ticked`` is due at the latest."""
        return None if self.phase is Phase.FINISHED else self._clocks.deadline

    def handle(self, event: happened.Event | happened.Ticked, now: float) -> Sequence[Action]:
        """Take in what happened; return what is to be done, in this order."""
        if self.phase is Phase.FINISHED:
            return []
        is_running = self.phase is Phase.RUNNING
        match event:
            case happened.EngineReady():
                return self._engine_ready(now)
            case happened.EngineTrouble(text):
                return [self._wait.note_trouble(text)]
            case happened.EngineGaveUp(error):
                return self._engine_gave_up(error, now)
            case happened.TasksPlaced(places):
                self._placing.take(places, self.phase, now)
                return []
            case happened.TasksNotPlaced(task_ids):
                self.members.not_launched(task_ids)
                return self._finish_when_stopped(now) if self.phase is Phase.STOPPING else []
            case happened.TasksLeftOut():
                return self._left_out(event)
            case happened.Waiting(placed, reason):
                return self._wait.explain(placed, reason)
            case happened.Impossible(reason) if self._placing.is_waited_for(self.phase):
                problem = f"the run cannot be placed: {reason}"
                given_up = self._rolling.give_up(problem, now)
                return given_up or self._fail(ResourcesError(problem), now)
            case happened.Impossible():
                return []
            case happened.NodeLost() | happened.NodeWanted():
                return node_warning(event, self.members)
            case happened.TaskRegistered():
                return self._register(event)
            case happened.TaskReady(task_id):
                return self._ready(task_id, now)
            case happened.TaskFellSilent(task_id, seconds):
                if member := self.members.live(task_id):
                    self._hangs.heard(member, seconds, now)
                return []
            case happened.TaskHeld(task_id, reason):
                return held_tasks.hold(self.members, task_id, reason) if is_running else []
            case happened.ContinueRequested():
                return held_tasks.let_go(self.members)
            case happened.RestartRequested(task_id, elsewhere):
                return [*self._requested.of_owner(task_id, elsewhere)] if is_running else []
            case happened.RoomSeen(tasks):
                grown = self._growth.seen(tasks) if is_running else None
                return self._notice(grown, now) if grown else []
            case happened.NoticeGiven():
                return self._notice(event, now)
            case happened.NodeDrained():
                return self._node_drained(event, now)
            case happened.UpdateRequested():
                return self._update_requested(event, now)
            case happened.TakenOver(away):
                return self._time_limit.spend(away)
            case happened.StopRequested():
                return self._stop_requested(event, now)
            case happened.Ticked(is_output_held, is_bringing):
                if is_output_held or is_bringing:
                    self._stopping.wait_for_output(now, is_bringing)
                return self._clocks.tick(now)
        return self._heard(self._endings.handle(event, now), now)

    @property
    def is_failing(self) -> bool:
        """Has the run failed, even if some tasks are still stopping?"""
        return self.phase >= Phase.STOPPING and not self._stopping.outcome.ok

    def summary(self) -> str:
        """What the run is waiting for, in one line; empty if it is not waiting."""
        if self.phase in (Phase.STOPPING, Phase.STAYING):
            return self._stopping.summary()
        return self._wait.summary() if self._placing.is_waited_for(self.phase) else ""

    # Getting the tasks placed and started

    def _engine_ready(self, now: float) -> list[Action]:
        again = self._wait.is_engine_ready
        self._wait.is_engine_ready = True
        wanted = self._placing.request(self.phase)
        if again:
            return [wanted]
        self._stopwatch.lap("finding the cluster", now)
        return [wanted, *self._start_when_complete()]  # if all have registered, nobody waits

    def _left_out(self, event: happened.TasksLeftOut) -> list[Action]:
        """Begin with fewer tasks than the run could use."""
        said = self._placing.leave_out(event) if self.phase is Phase.STARTING else []
        if not said:
            return []
        self._success.begin([member.task for member in self.members])
        return [*said, *self._start_when_complete()]

    def _register(self, event: happened.TaskRegistered) -> list[Action]:
        member = self.members.live(event.task_id)
        if member is None or member.stage is not Stage.LAUNCHED:
            return []
        self._avoided_nodes.worked(member.node)
        registered = self._cluster.register(member, event)
        self._endings.runner_registered(member)
        if self.phase is Phase.STARTING:
            return [*registered, *self._start_when_complete()]
        if self.phase is Phase.RUNNING:
            return [*registered, *self._cluster.rejoin(member)]
        return [do.StopRunner(member.task_id, 0, "the run is ending")]

    def _start_when_complete(self) -> list[Action]:
        if self.phase is not Phase.STARTING or not self._cluster.is_complete:
            return []
        self.phase = Phase.RUNNING
        return self._cluster.start()

    def _ready(self, task_id: str, now: float) -> list[Action]:
        member = self.members.live(task_id)
        if member is None or member.stage is not Stage.STARTED:
            return []
        announced = self._cluster.ready(member, now)
        if announced and self.phase is Phase.RUNNING:
            self._stopwatch.lap("starting the tasks", now)
            self._growth.begin(now)
        if self.phase not in (Phase.RUNNING, Phase.STAYING):
            return []
        return [*auxiliary.announce(member), *announced, *self._rolling.go_on(now)]

    def _wait_deadline(self) -> float | None:
        return self._wait.deadline if self._placing.is_waited_for(self.phase) else None

    def _tick_wait(self, now: float) -> Sequence[Action]:
        if self._wait.is_over(now):
            error = self._wait.error()
            return self._rolling.give_up(str(error), now) or self._fail(error, now)
        return self._wait.notice(now)

    # Ends of tasks

    def _heard(self, heard: Heard, now: float) -> list[Action]:
        end, todo = heard
        if end is None:
            is_stopping = self.phase in (Phase.STOPPING, Phase.RESTARTING)
            return [*todo, *(self._go_on_when_stopped(now) if is_stopping else [])]
        if self.phase is Phase.RUNNING and (said := self._endings.hold_back(end, now)):
            return [*todo, said]
        return [*todo, *self._end(end, now)]

    def _tick_endings(self, now: float) -> list[Action]:
        todo: list[Action] = []
        for end in self._endings.due(now):
            if end.member.is_live:
                todo += self._end(end, now)
        return todo

    def _end(self, end: End, now: float) -> list[Action]:
        member = end.member
        had_started = member.stage >= Stage.STARTED
        self._endings.forget(member)
        self._hangs.forget(member)
        member.ending = end.for_report()
        self.members.move(member, Stage.ENDED)
        if self.phase not in (Phase.STARTING, Phase.RUNNING):
            if self._notices.is_about(member):
                self._stopping.give_cause(member.ending)
            return self._go_on_when_stopped(now)
        if had_started and end.is_good and not self._restarts.is_requested(member.task_id):
            said = self._success.ended_well(member.task, self.members, now)
            if self._success.is_sure(now):
                return self._succeed(now)
            return [*said, *self._rolling.go_on(now)]
        return self._end_badly(end, had_started, now)

    def _go_on_when_stopped(self, now: float) -> list[Action]:
        """Wait no longer for a task that has ended; after the last one, end or start over."""
        if self.phase is Phase.RESTARTING:
            return self._start_again_when_stopped(now)
        return self._finish_when_stopped(now)

    def _end_badly(self, end: End, had_started: bool, now: float) -> list[Action]:
        """A task ended that should not have: start again what may be, or end the run."""
        todo: list[Action] = []
        for earlier in self._endings.earlier_than(end.at) if had_started else ():
            # It was only waiting to be confirmed: what it may have caused does not hide it.
            todo += self._end(earlier, now)
        if self.phase not in (Phase.STARTING, Phase.RUNNING):
            return todo
        again = self._rolling.after_failure(end, had_started)
        restart, more = again or (self._restarts.grant(end, had_started), ())
        if restart is None and end.member.task.is_auxiliary:
            return [*todo, auxiliary.give_up(end, had_started), *self._start_when_complete()]
        if restart is None:
            assert end.member.ending is not None
            return [*todo, *self._stop(Outcome.of_failure(end.member.ending), now)]
        return [*todo, *self._restart(end, restart, had_started, now), *more]

    # Generations

    def _update_requested(self, update: happened.UpdateRequested, now: float) -> list[Action]:
        if self.generations.why_not_take(update, self.phase):
            return []  # it has changed meanwhile
        if update.is_rolling:
            return self._rolling.begin(update, now)
        change = "; ".join(update.difference)
        self.generations.update(update.jobs, f"update: {change}")
        said = do.Say(f"{change}: restarting all tasks with this change", "notice")
        if self.phase is Phase.RESTARTING:
            return [said]
        return [said, *self._restart_all("the run is being updated", 0.0, now)]

    def _node_drained(self, drained: happened.NodeDrained, now: float) -> list[Action]:
        todo = self._heard(self._endings.handle(drained, now), now)
        member = self.members.live(drained.task_id)
        if words := self._notices.explained(member, drained):
            return [*todo, *self._explain_notice(words)]
        is_running = member is not None and self.phase is Phase.RUNNING
        notice = self._notices.of_leaving(member, drained) if member and is_running else None
        return [*todo, *(self._notice(notice, now) if notice else [])]

    def _notice(self, notice: happened.NoticeGiven, now: float) -> list[Action]:
        """All tasks write a checkpoint; then the run continues with all of them, or ends."""
        is_running = self.phase is Phase.RUNNING
        if not is_running and not (notice.is_time_limit and self.phase <= Phase.RESTARTING):
            return []
        if not is_running or not self._notices.goes_on(notice):
            return self._stop(Outcome(error=error_of(notice)), now, grace=notice.grace)
        self.generations.go_on(notice.reason)
        said = do.Say(f"{notice.reason}; stopping all tasks to start them again", "warning")
        return [said, *self._restart_all(notice.reason, 0.0, now, notice.grace)]

    def _explain_notice(self, words: str) -> list[Action]:
        """The engine has learned more about why a task had to go."""
        self.generations.explain(words)
        self._stopping.explain(words)
        return [do.Say(words, "warning")] if self.phase is Phase.RESTARTING else []

    def _restart_all(
        self, reason: str, pause: float, now: float, grace: float | None = None
    ) -> list[Action]:
        """Stop everybody; when the last one has ended the next generation begins."""
        self._stopwatch.lap("running" if self._cluster.is_ready else "starting the tasks", now)
        self.phase = Phase.RESTARTING
        self._restarts.cancel()
        stopped = self._stopping.begin(reason, now, pause=pause, grace=grace)
        next_ones = self._placing.anticipate(tasks_of(self.generations.next_jobs))
        return [*stopped, next_ones, *self._start_again_when_stopped(now)]

    def _start_again_when_stopped(self, now: float) -> list[Action]:
        if not self._stopping.is_over(now):
            return []
        given_up = self._stopping.give_up()
        for member in self.members:
            self._endings.forget(member)
            self._hangs.forget(member)
        begun = self.generations.begin()
        tasks = tasks_of(begun.jobs)
        self.members.begin(tasks)
        self._success.begin(tasks)
        self.phase = Phase.STARTING
        self._stopwatch.lap("stopping to start again", now)
        self._wait.begin(now)
        return [*given_up, begun, self._placing.request(self.phase)]

    # Restarts

    def _restart(self, end: End, restart: Restart, had_started: bool, now: float) -> list[Action]:
        member = end.member
        assert member.ending is not None
        words = self._restarts.shown(end).with_news(had_started, self._restarted)
        said = do.Say(f"{words}; {restart}", "warning")
        if had_started and not restart.is_planned:
            self._restarted.append(member.ending)
        if restart.of_all:
            self.generations.restart(words)
            return [said, *self._restart_all("all tasks are being restarted", restart.pause, now)]
        if restart.blames_node(end, had_started):
            at_once = restart.elsewhere or end.code == NODE_UNFIT
            self._avoided_nodes.failed(member.node, now, at_once=at_once)
        member.previous_place = restart.previous_place(end, had_started, now)
        self.members.move(member, Stage.PAUSING)
        self._restarts.schedule(member, now + restart.pause)
        if self.phase is Phase.RUNNING and not member.task.is_auxiliary:
            self._wait.begin(now)
        return [said, do.Refuse(member.task_id), *self._launch_again(now)]

    def _launch_again(self, now: float) -> list[Action]:
        due = self._restarts.due(now)
        for member in due:
            self.members.retry(member)
        return [self._placing.request(self.phase)] if due else []

    # Hangs

    def _commands_awaited(self) -> list[Member]:
        """Those that run, and whose end the run is waiting for."""
        if self.phase is not Phase.RUNNING or self.members.held():
            return []  # others may be waiting for the held task
        return [m for m in self.members if m.stage is Stage.READY and self._success.needs(m.task)]

    def _tick_hangs(self, now: float) -> list[Action]:
        said, error = self._hangs.tick(now)
        return [*said, *(self._fail(error, now, examine=True) if error else [])]

    # Ends of the run

    def _engine_gave_up(self, error: TFMesosError, now: float) -> list[Action]:
        if self.phase >= Phase.STOPPING:
            return []  # the runners still hear us; the engine's confirmation is not needed
        return self._fail(error, now)

    def _stop_requested(self, stop: happened.StopRequested, now: float) -> list[Action]:
        said = self._stopping.request(stop.exit_code, stop.grace)
        if self.phase is Phase.STOPPING:
            sooner = self._stopping.begin(stop.reason, now) if stop.grace else []
            return self._finish(now) if self._stopping.is_cut else [*said, *sooner]
        if self.phase is Phase.STAYING:
            return [*said, *self._stop(self._stopping.outcome, now)]
        error = Interrupted(stop.reason, stop.exit_code) if stop.exit_code else None
        return [*said, *self._stop(Outcome(error=error), now)]

    def _tick_time_limit(self, now: float) -> list[Action]:
        return self._stop(
            Outcome(error=self._time_limit.error()), now, grace=self._time_limit.grace
        )

    def _fail(self, error: TFMesosError, now: float, examine: bool = False) -> list[Action]:
        return self._stop(Outcome(error=error), now, examine)

    def _succeed(self, now: float) -> list[Action]:
        return [*self._success.say_stopped(self.members), *self._stop(Outcome(), now)]

    def _stop(
        self, outcome: Outcome, now: float, examine: bool = False, grace: float | None = None
    ) -> list[Action]:
        """Stop the run; success, failure and interruption all take this path."""
        self._stopwatch.lap("running" if self._cluster.is_ready else "starting the tasks", now)
        self._stopping.choose_kept(outcome)
        self.phase = Phase.STOPPING
        self._stopping.outcome = outcome
        self._restarts.cancel()
        reason = str(outcome.error or "the run is over")
        todo = self._stopping.begin(reason, now, examine=examine, grace=grace)
        return [*todo, *self._finish_when_stopped(now)]

    def _tick_stopping(self, now: float) -> list[Action]:
        if self.phase is Phase.STOPPING:
            return self._finish(now)
        return self._start_again_when_stopped(now)

    def _finish_when_stopped(self, now: float) -> list[Action]:
        return [] if self._stopping.is_awaiting else self._finish(now)

    def _finish(self, now: float) -> list[Action]:
        if self._stopping.keeps_any and not self._stopping.is_cut:
            self.phase = Phase.STAYING
            return self._stopping.say_staying()
        self.phase = Phase.FINISHED
        self._stopwatch.lap("stopping", now)
        return [do.Finish(self._stopping.ended(self._stopwatch.laps, self._restarted))]
