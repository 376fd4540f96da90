"""The whole life of a run: everything that decides lives here; nothing here does I/O.

``ClusterState.handle(event, now)`` changes the state and returns what is to be done.
A run passes through the phases of ``Phase`` in their order, and back to GATHERING only when all
tasks are started again; each task passes through the stages of ``roster.Stage``, and back to
WAITING when it is launched again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from . import actions as do
from . import events as happened
from . import nodes
from .actions import Action, ClusterSpec, Ending, Outcome
from .census import never
from .errors import Interrupted, MasterError, ResourcesError, TaskFailed, TFMesosError
from .gathering import Gathering
from .home import PATIENCE, Home
from .launch import USUAL_RESTARTS, RestartPolicy
from .offers import Offer
from .placement import Place
from .placing import Placing
from .reconciliation import Reconciliation
from .restarts import COOL_DOWN, Restart, Restarts
from .roster import Member, Roster, Stage, deciding
from .silence import Silence
from .spec import Task
from .stopwatch import Stopwatch
from .task_info import KILL_GRACE
from .wire import join_address, split_address
from .witnesses import Heard, Verdict, Witnesses
from .words import some

MIN_LIFE = 1.0  # seconds a task may run although those that decide have finished
EXAMINATION = 4.0  # seconds more when the tasks are to tell what they are doing
# Without these nothing is launched, or offered to us again; a repetition would be refused, too.
NEEDED_CALLS = ("ACCEPT", "DECLINE", "REVIVE")
STOP_MARGIN = 2.0  # seconds for a killed task to be reported, beyond its grace


class Phase(IntEnum):
    GATHERING = 1  # until every task has registered
    RUNNING = 2
    REGROUPING = 3  # all tasks are stopped, to be started again
    STOPPING = 4
    FINISHED = 5


class ClusterState:
    def __init__(
        self,
        tasks: Sequence[Task],
        run_id: str,
        now: float,
        *,
        start_timeout: float | None = None,
        restarts: RestartPolicy = USUAL_RESTARTS,
        hang_timeout: float | None = None,
        nodes_alike: bool = False,
        jitter: Callable[[], float] = lambda: 0.5,
        here: tuple[Task, str, str] | None = None,  # a task beside us, its id and address
    ) -> None:
        self.members = Roster(tasks, run_id)
        if here is not None:
            self.members.seat_here(*here)
        self.phase = Phase.GATHERING
        self.cluster: ClusterSpec = {}
        self.is_ready = False
        self._witnesses = Witnesses(self.members, nodes_alike)
        self._restarts = Restarts(restarts)
        self._restarted: list[Ending] = []
        self._reconciliation = Reconciliation()
        self._silence = Silence(hang_timeout)
        self._tasks, self._undecided = tasks, deciding(tasks)
        self._placing = Placing(jitter)
        self._gathering = Gathering(self.members, self._placing.gang, start_timeout, now)
        self._stop_by = self._regroup_at = now
        self._stopping_with = Outcome()
        self._linger_until: float | None = None
        self._stopwatch = Stopwatch(now)

    def handle(self, event: happened.Event, now: float) -> list[Action]:
        """Take in what happened; return what is to be done, in this order."""
        if self.phase is Phase.FINISHED:
            return []
        match event:
            case happened.Subscribed():
                return self._subscribe(event, now)
            case happened.Disconnected(reason):
                self._placing.gang.forget()
                return [do.Say(f"lost the master: {reason}", "warning")]
            case happened.MasterSought(trouble):
                self._gathering.trouble = trouble
                return [do.Say(trouble, "notice")]
            case happened.MasterGaveUp(error):
                return self._master_gave_up(error, now)
            case happened.CallRefused():
                return self._call_refused(event, now)
            case happened.OffersReceived(offers):
                return self._take_offers(offers, now)
            case happened.OfferRescinded(offer_id):
                self._placing.gang.rescind(offer_id)
                return []
            case happened.AgentsCounted():
                return self._count(event, now)
            case happened.InverseOffersReceived(offer_ids, agent_ids):
                return nodes.keep(self.members, offer_ids, agent_ids)
            case happened.TaskUpdated():
                self._reconciliation.heard_of(event.task_id)
                return self._weigh(self._witnesses.hear_mesos(event, now), now)
            case happened.AgentLost(agent_id):
                return nodes.agent_lost(self.members, agent_id)
            case happened.TaskRegistered():
                return self._register(event)
            case happened.TaskReady(task_id):
                return self._ready(task_id, now)
            case happened.TaskFellSilent(task_id, seconds):
                if member := self.members.live(task_id):
                    self._silence.heard(member, seconds, now)
                return []
            case happened.TaskExited():
                return self._weigh(self._witnesses.hear_runner(event, now), now)
            case happened.RunnerOutOfTouch(task_id):
                self._witnesses.miss(task_id, now)
                return []
            case happened.RunnerBack(task_id):
                self._witnesses.meet_again(task_id)
                return []
            case happened.RunnerLost():
                return self._weigh(self._witnesses.miss_runner(event, now), now)
            case happened.StopRequested(reason, exit_code):
                return self._stop_requested(reason, exit_code, now)
            case happened.Ticked(is_output_held):
                self._wait_for_output(is_output_held, now)
                return self._tick(now)

    def deadline(self) -> float | None:
        """When ``Ticked`` is due at the latest."""
        if self.phase is Phase.FINISHED:
            return None
        watches = (self._witnesses, self._reconciliation, self._placing.gang, self._restarts)
        times = [self._linger_until, *(watch.deadline for watch in watches)]
        if self._silence and self.phase is Phase.RUNNING:
            times.append(self._silence.deadline(self._commands_awaited()))
        if self.phase is Phase.STOPPING:
            times.append(self._stop_by)
        if self.phase is Phase.REGROUPING:
            live = self.members.any_live
            times.append(max(self._regroup_at, self._stop_by) if live else self._regroup_at)
        if self._is_waited_for:
            times.append(self._gathering.deadline)
        return min((time for time in times if time is not None), default=None)

    @property
    def is_failing(self) -> bool:
        """Has the run failed, though some of it may still be stopping?"""
        return self.phase >= Phase.STOPPING and self._stopping_with.error is not None

    def summary(self) -> str:
        """Where a wait stands, in one line; empty when nobody waits."""
        if self.phase is Phase.STOPPING:
            live = [m.task.name for m in self.members if m.is_live]
            return f"stopping {some(live)}" if live else ""
        if not self._is_waited_for:
            return ""
        done = f"{self.members.with_runner} of {len(self.members)} tasks registered"
        return f"{done}; {self._gathering.words()}"

    # Getting the tasks placed and started

    def _subscribe(self, event: happened.Subscribed, now: float) -> list[Action]:
        said = do.Say(f"subscribed to {event.master} as framework {event.framework_id}")
        self._placing.gang.forget()
        again, self._gathering.is_subscribed = self._gathering.is_subscribed, True
        self._gathering.inquiry.begin(now)
        quiet = [] if self._waiting() else [do.Suppress()]
        if not again:
            self._stopwatch.lap("finding the master", now)
            return [said, *quiet, *self._start_when_complete()]  # if all are here nobody waits
        launched = (m for m in self.members if m.is_live and m.agent_id)
        return [said, *self._reconciliation.begin(launched, now), *quiet]

    @property
    def _is_waited_for(self) -> bool:
        """Is there a task that the others cannot begin or go on without?"""
        if self.phase is Phase.GATHERING:
            return True
        return self.phase is Phase.RUNNING and not self.members.all_at_least(Stage.STARTED)

    def _waiting(self) -> list[Member]:
        return self.members.waiting() if self._is_waited_for else []

    def _take_offers(self, offers: Sequence[Offer], now: float) -> list[Action]:
        waiting = self._waiting()
        places, todo = self._placing.take(offers, waiting, self.members.seated(), now)
        launches = [self._launch(place) for place in places]
        if launches:
            self._gathering.inquiry.close()
            self._reconciliation.watch((m for m in waiting if m.is_live), now)
        if launches and self.phase is Phase.GATHERING:
            is_first = all(member.attempt == 1 for member in waiting)
            self._stopwatch.lap("waiting for offers" if is_first else "launching again", now)
        return [*launches, *todo]

    def _count(self, counted: happened.AgentsCounted, now: float) -> list[Action]:
        if counted.agents is None or not self._gathering.inquiry.is_open:
            return []
        self._placing.gang.agents, self._placing.gang.holders = counted.agents, counted.holders
        reason = never([member.task for member in self._waiting()], counted.agents)
        if not reason:
            return []
        return self._stop(Outcome(error=ResourcesError(f"this cannot be placed: {reason}")), now)

    def _launch(self, place: Place) -> Action:
        seats = tuple((self.members.launch(seat.task, place).task_id, seat) for seat in place.seats)
        return do.Launch(place.agent_id, place.hostname, tuple(o.id for o in place.offers), seats)

    def _register(self, event: happened.TaskRegistered) -> list[Action]:
        member = self.members.live(event.task_id)
        if member is None or member.stage is not Stage.LAUNCHED:
            return []
        self._reconciliation.heard_of(member.task_id)
        self.members.move(member, Stage.REGISTERED)
        member.address = join_address(event.host, event.port)
        self._placing.cool_down.worked(member.agent_id)
        if self.phase not in (Phase.GATHERING, Phase.RUNNING):
            return [do.StopRunner(member.task_id, 0, "the run is ending")]
        is_server = member.task.job.cmd is None
        prepare = [do.Prepare(member.task_id, member.task)] if is_server else []
        if self.phase is Phase.RUNNING:
            return [*prepare, *self._start_again(member)]
        return [*prepare, *self._start_when_complete()]

    def _start_again(self, member: Member) -> list[Action]:
        """One task joins the others, who have gone on without it."""
        self.members.move(member, Stage.STARTED)
        self.cluster = self.members.cluster()
        back = do.Say(f"{member.task.name} is back on {member.hostname}", "warning")
        if member.told_address not in ("", member.address):
            text = f"at {member.address}; the others look for it at {member.told_address}"
            back = do.Say(f"{back.text}, {text}", "warning")
        return [back, do.Start(((member.task_id, member.task),), self.cluster)]

    def _start_when_complete(self) -> list[Action]:
        if self.members.with_runner < len(self.members):
            return []
        self.phase = Phase.RUNNING
        self.cluster = self.members.cluster()
        for member in self.members:
            self.members.move(member, Stage.STARTED)
            member.told_address = member.address
        return [do.Start(tuple((m.task_id, m.task) for m in self.members), self.cluster)]

    def _ready(self, task_id: str, now: float) -> list[Action]:
        member = self.members.live(task_id)
        if member is None or member.stage is not Stage.STARTED:
            return []
        self.members.move(member, Stage.READY)
        member.ready_at = now
        if self.is_ready or self.phase is not Phase.RUNNING:
            return []
        if not self.members.all_at_least(Stage.READY):
            return []
        self.is_ready = True
        self._stopwatch.lap("starting the tasks", now)
        return [do.AnnounceReady(self.cluster)]

    # Ends of tasks

    def _weigh(self, heard: Heard, now: float) -> list[Action]:
        verdict, todo = heard
        if verdict is None:
            return todo
        if self.phase is Phase.RUNNING and (said := self._witnesses.put_off(verdict, now)):
            return [*todo, said]
        return [*todo, *self._end(verdict, now)]

    def _end(self, verdict: Verdict, now: float) -> list[Action]:
        member = verdict.member
        self._witnesses.settle(member)
        self._silence.forget(member)
        member.ending = Ending(
            member.task,
            member.hostname,
            verdict.code,
            verdict.reason,
            verdict.tail,
            verdict.at,
            member.task_id,
            member.agent_url,
            was_stopped=verdict.was_stopped,
            is_reported=verdict.is_reported,
        )
        had_started = member.stage >= Stage.STARTED
        self.members.move(member, Stage.ENDED)
        if self.phase is Phase.STOPPING:
            return self._finish_when_stopped(now)
        if self.phase is Phase.REGROUPING:
            return self._gather_when_stopped(now)
        # A server serves until it is stopped.
        if had_started and verdict.code == 0 and member.task.job.cmd is not None:
            self._undecided.discard(member.task)
            return self._finish_when_decided(now)
        return self._bear(verdict, had_started, now)

    def _bear(self, verdict: Verdict, had_started: bool, now: float) -> list[Action]:
        """A task ended that should not have: start again what may be, or end the run."""
        todo: list[Action] = []
        for earlier in self._witnesses.earlier_ends(verdict.at) if had_started else ():
            # It was only waiting for a second word: what it may have caused does not hide it.
            todo += self._end(earlier, now)
        if self.phase not in (Phase.GATHERING, Phase.RUNNING):
            return todo
        restart = self._restarts.grant(verdict, had_started)
        if restart is None:
            return [*todo, *self._fail(verdict.member, now)]
        return [*todo, *self._restart(verdict, restart, had_started, now)]

    # Second chances

    def _restart(
        self, verdict: Verdict, restart: Restart, had_started: bool, now: float
    ) -> list[Action]:
        member = verdict.member
        assert member.ending is not None
        when = "" if had_started else " before the cluster started"
        text = f"{member.task.name} on {member.hostname} {verdict.reason}{when}; {restart}"
        todo: list[Action] = [do.Say(text, "warning")]
        if had_started:
            self._restarted.append(member.ending)
        if restart.of_all:
            return [*todo, *self._regroup(restart.pause, now)]
        if (not had_started or verdict.is_lost) and not verdict.is_passing:
            todo += self._note_failure_of(member, now)
        member.home = self._home_of(verdict, restart, now) if had_started else None
        self.members.move(member, Stage.RESTING)
        self._restarts.schedule(member, now + restart.pause)
        if self.phase is Phase.RUNNING:
            self._gathering.begin(now)
        return [*todo, *self._launch_rested(now)]

    def _home_of(self, verdict: Verdict, restart: Restart, now: float) -> Home | None:
        """Where the others look for the task, unless its node is what failed."""
        if verdict.is_lost:
            return None
        _, port = split_address(verdict.member.address)
        return Home(verdict.member.agent_id, port, now + restart.pause + PATIENCE)

    def _note_failure_of(self, member: Member, now: float) -> list[Action]:
        if not self._placing.cool_down.failed(member.agent_id, now):
            return []
        text = f"tasks keep failing on {member.hostname}: not used for {COOL_DOWN:g} s"
        return [do.Say(text, "warning")]

    def _launch_rested(self, now: float) -> list[Action]:
        rested = self._restarts.due(now)
        for member in rested:
            self.members.again(member)
        return [do.Revive()] if rested else []

    def _regroup(self, pause: float, now: float) -> list[Action]:
        """Stop everybody; when the last one has ended all are started again."""
        self._stopwatch.lap("running", now)
        self.phase, self.is_ready = Phase.REGROUPING, False
        self._linger_until = None
        self._regroup_at = now + pause
        self._stop_by = now + KILL_GRACE + STOP_MARGIN
        return [*self._end_all("all tasks are started again"), *self._gather_when_stopped(now)]

    def _gather_when_stopped(self, now: float) -> list[Action]:
        if now < self._regroup_at or (self.members.any_live and now < self._stop_by):
            return []
        left = [do.Kill(m.task_id, m.agent_id) for m in self.members if m.is_live]
        self._restarts.cancel()
        for member in self.members:
            self._witnesses.settle(member)
            self._silence.forget(member)
            self.members.again(member)
        self.phase = Phase.GATHERING
        self._undecided = deciding(self._tasks)
        self._stopwatch.lap("stopping to start again", now)
        self._gathering.begin(now)
        return [*left, do.Revive()]

    # Silence

    def _commands_awaited(self) -> list[Member]:
        """Those that run, and whose end the run is waiting for."""
        return [m for m in self.members if m.stage is Stage.READY and m.task in self._undecided]

    def _tick_silence(self, now: float) -> list[Action]:
        awaited = self._commands_awaited()
        if not self._silence.is_too_long(awaited, now):
            return self._silence.name_some(awaited, now)
        said, error = self._silence.verdict(awaited)
        return [said, *self._stop(Outcome(error=error), now, examine=True)]

    # Ends of the run

    def _fail(self, member: Member, now: float) -> list[Action]:
        ending = member.ending
        assert ending is not None
        where = f" on {ending.hostname}" if ending.hostname else ""
        error = TaskFailed(member.task.name, f"{ending.reason}{where}", ending.code or 1)
        return self._stop(Outcome(error=error, cause=ending), now)

    def _finish_when_decided(self, now: float) -> list[Action]:
        if self._undecided:
            return []
        # A ps that has hardly begun may be about to say something: let it live a moment.
        born = [m.ready_at if m.stage is Stage.READY else now for m in self.members if m.is_live]
        self._linger_until = max((at + MIN_LIFE for at in born), default=now)
        if now < self._linger_until:
            return []
        return self._stop(Outcome(), now)

    def _master_gave_up(self, error: TFMesosError, now: float) -> list[Action]:
        if self.phase is Phase.STOPPING:
            return []  # the runners still hear us; Mesos's confirmation is not needed
        return self._stop(Outcome(error=error), now)

    def _call_refused(self, refused: happened.CallRefused, now: float) -> list[Action]:
        """Go on if the call is not needed, or is made again anyhow; else end, and say why."""
        if refused.call == "ACCEPT":
            self.members.not_launched(refused.task_ids)
        text = f"the master refused {refused.call} ({refused.reason})"
        if self.phase is Phase.STOPPING:
            return [do.Say(text, "debug"), *self._finish_when_stopped(now)]
        if refused.call in NEEDED_CALLS:
            return self._stop(Outcome(error=MasterError(text)), now)
        return [do.Say(text, "warning")]

    def _stop_requested(self, reason: str, exit_code: int, now: float) -> list[Action]:
        if self.phase is Phase.STOPPING:
            return self._finish(now)
        error = Interrupted(reason, exit_code) if exit_code else None
        return self._stop(Outcome(error=error), now)

    def _stop(self, outcome: Outcome, now: float, examine: bool = False) -> list[Action]:
        """The one way down, for success, failure and interruption alike."""
        self._stopwatch.lap("running" if self.is_ready else "starting the tasks", now)
        self.phase, self._stopping_with = Phase.STOPPING, outcome
        self._linger_until = None
        self._stop_by = now + KILL_GRACE + STOP_MARGIN + (EXAMINATION if examine else 0)
        self._restarts.cancel()
        todo = self._end_all(str(outcome.error or "the run is over"), examine)
        return [*todo, *self._finish_when_stopped(now)]

    def _end_all(self, reason: str, examine: bool = False) -> list[Action]:
        quiet = [do.Suppress()] if self.members.waiting() else []
        todo: list[Action] = [*self._placing.gang.release(0.0, reason), *quiet]
        for member in self.members:
            if member.has_runner:
                look = examine and member.task.job.cmd is not None
                todo.append(do.StopRunner(member.task_id, KILL_GRACE, reason, look))
            elif member.is_live:
                todo.append(do.Kill(member.task_id, member.agent_id))
        return todo

    def _finish_when_stopped(self, now: float) -> list[Action]:
        return [] if self.members.any_live else self._finish(now)

    def _finish(self, now: float) -> list[Action]:
        self.phase = Phase.FINISHED
        self._stopwatch.lap("stopping", now)
        outcome = self._stopping_with
        ends = Outcome(
            outcome.error,
            outcome.cause,
            self.members.failures_besides(outcome.cause),
            tuple(m.task.name for m in self.members if m.is_live),
            self._stopwatch.laps,
            tuple(self._restarted),
        )
        return [do.Finish(ends)]

    # Time

    def _wait_for_output(self, is_held: bool, now: float) -> None:
        """Commands have ended by then; their last lines and their end come when they are taken."""
        is_hurried = isinstance(self._stopping_with.error, Interrupted)
        if is_held and now >= self._stop_by and not is_hurried:
            self._stop_by = now + STOP_MARGIN

    def _tick(self, now: float) -> list[Action]:
        todo = self._reconciliation.ask_if_due(now)
        if self._placing.gang.is_due(now):
            todo += self._take_offers((), now)
        todo += self._placing.gang.release_if_due(now)
        todo += self._launch_rested(now)
        if self._is_waited_for:
            todo += self._tick_waiting(now)
        for verdict in self._witnesses.due(now):
            if verdict.member.is_live:
                todo += self._end(verdict, now)
        if self._linger_until is not None and now >= self._linger_until:
            todo += self._stop(Outcome(), now)
        if self._silence and self.phase is Phase.RUNNING:
            todo += self._tick_silence(now)
        if self.phase is Phase.REGROUPING:
            todo += self._gather_when_stopped(now)
        if self.phase is Phase.STOPPING and now >= self._stop_by:
            todo += self._finish(now)
        return todo

    def _tick_waiting(self, now: float) -> list[Action]:
        if self._gathering.is_over(now):
            return self._stop(Outcome(error=self._gathering.error()), now)
        return self._gathering.tick(now)
