"""The whole life of a run: everything that decides lives here; nothing here does I/O.

``ClusterState.handle(event, now)`` changes the state and returns what is to be done.
A run passes through the phases of ``Phase`` in their order and never goes back; each task
passes through those of ``roster.Stage``, and goes back to WAITING when it is launched again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from . import actions as do
from . import events as happened
from .actions import Action, ClusterSpec, Ending, Outcome
from .doubts import Doubt, Doubts
from .errors import (
    Interrupted,
    MasterError,
    ResourcesError,
    StartTimeout,
    TaskFailed,
    TFMesosError,
)
from .gang import LONG_REFUSAL, Gang
from .offers import Offer, Place
from .reconciliation import Reconciliation
from .roster import Member, Roster, Stage, deciding
from .spec import Task
from .stopwatch import Stopwatch
from .task_info import KILL_GRACE, describe, is_terminal, status_in
from .wire import RUNNER_EXITS, join_address

MAX_ATTEMPTS = 3  # launches of one task before the cluster has started
REPORT_EVERY = 10.0  # seconds between words on what a wait is for
FIRST_REPORT = 3.0
SECOND_OPINION = 3.0  # seconds that Mesos and the runner give each other to report an end
UNREACHABLE_GRACE = 90.0  # seconds before a task behind a lost network counts as lost
MIN_LIFE = 1.0  # seconds a task may run although those that decide have finished
STOP_MARGIN = 2.0  # seconds for a killed task to be reported, beyond its grace


class Phase(IntEnum):
    GATHERING = 1  # until every task has registered
    RUNNING = 2
    STOPPING = 3
    FINISHED = 4


class ClusterState:
    def __init__(
        self,
        tasks: Sequence[Task],
        run_id: str,
        now: float,
        *,
        start_timeout: float | None = None,
        jitter: Callable[[], float] = lambda: 0.5,
        here: tuple[Task, str, str] | None = None,  # a task beside us, its id and address
    ) -> None:
        self.members = Roster(tasks, run_id)
        if here is not None:
            self.members.seat_here(*here)
        self.phase = Phase.GATHERING
        self.cluster: ClusterSpec = {}
        self.is_ready = False
        self._doubts = Doubts()
        self._reconciliation = Reconciliation()
        self._undecided = deciding(tasks)
        self._gang = Gang(jitter)
        self._subscribed = False
        self._start_timeout = start_timeout
        self._start_by = None if start_timeout is None else now + start_timeout
        self._report_at = now + FIRST_REPORT
        self._stop_by: float | None = None
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
                self._gang.forget()
                return [do.Say(f"lost the master: {reason}", "warning")]
            case happened.MasterGaveUp(error):
                return self._master_gave_up(error, now)
            case happened.OffersReceived(offers):
                return self._take_offers(offers, now)
            case happened.OfferRescinded(offer_id):
                self._gang.rescind(offer_id)
                return []
            case happened.InverseOffersReceived(offer_ids, agent_ids):
                return self._keep_nodes(offer_ids, agent_ids)
            case happened.TaskUpdated():
                return self._update(event, now)
            case happened.AgentLost(agent_id):
                return self._agent_lost(agent_id)
            case happened.TaskRegistered():
                return self._register(event)
            case happened.TaskReady(task_id):
                return self._ready(task_id, now)
            case happened.TaskExited():
                return self._exit(event, now)
            case happened.RunnerLost():
                return self._runner_lost(event, now)
            case happened.StopRequested(reason, exit_code):
                return self._stop_requested(reason, exit_code, now)
            case happened.Ticked():
                return self._tick(now)

    def deadline(self) -> float | None:
        """When ``Ticked`` is due at the latest."""
        if self.phase is Phase.FINISHED:
            return None
        times = [self._doubts.deadline, self._reconciliation.deadline]
        times += [self._linger_until, self._stop_by]
        if self.phase is Phase.GATHERING:
            times += [self._gang.deadline, self._start_by, self._report_at]
        return min((time for time in times if time is not None), default=None)

    def summary(self) -> str:
        """Where a wait stands, in one line; empty when nobody waits."""
        if self.phase is Phase.STOPPING:
            live = [m.task.name for m in self.members if m.is_live]
            return f"stopping {_some(live)}" if live else ""
        if self.phase is not Phase.GATHERING:
            return ""
        done = f"{self.members.with_runner} of {len(self.members)} tasks registered"
        return f"{done}; {self._what_is_awaited()}"

    # Getting the tasks placed and started

    def _subscribe(self, event: happened.Subscribed, now: float) -> list[Action]:
        said = do.Say(f"subscribed to {event.master} as framework {event.framework_id}")
        self._gang.forget()
        again, self._subscribed = self._subscribed, True
        if not again:
            self._stopwatch.lap("finding the master", now)
            return [said, *self._start_when_complete()]  # nobody is waited for if all are here
        launched = (m for m in self.members if m.is_live and m.agent_id)
        quiet = [] if self._waiting() else [do.Suppress()]
        return [said, *self._reconciliation.begin(launched, now), *quiet]

    def _waiting(self) -> list[Task]:
        return self.members.waiting() if self.phase is Phase.GATHERING else []

    def _take_offers(self, offers: Sequence[Offer], now: float) -> list[Action]:
        waiting = self._waiting()
        if not waiting:
            ids = tuple(offer.id for offer in offers)
            return [do.Decline(ids, LONG_REFUSAL, "no task is waiting"), do.Suppress()]
        declined = self._gang.add(offers, waiting, now)
        placement = self._gang.fit(waiting)
        if placement.unplaced:
            return declined
        self._gang.forget()
        self._stopwatch.lap("waiting for offers", now)
        launches = [self._launch(place) for place in placement.places]
        unused = tuple(offer.id for offer in placement.unused)
        spare = [do.Decline(unused, LONG_REFUSAL, "no task is waiting")] if unused else []
        return [*declined, *launches, *spare, do.Suppress()]

    def _launch(self, place: Place) -> Action:
        seats = tuple((self.members.launch(seat.task, place).task_id, seat) for seat in place.seats)
        return do.Launch(place.agent_id, place.hostname, tuple(o.id for o in place.offers), seats)

    def _register(self, event: happened.TaskRegistered) -> list[Action]:
        member = self.members.live(event.task_id)
        if member is None or member.stage is not Stage.LAUNCHED:
            return []
        self.members.move(member, Stage.REGISTERED)
        member.address = join_address(event.host, event.port)
        if self.phase is not Phase.GATHERING:
            return [do.StopRunner(member.task_id, 0, "the run is ending")]
        where = f"{member.task.name} is at {member.address} on {member.hostname}"
        done = f"{self.members.with_runner} of {len(self.members)} tasks registered"
        said = do.Say(f"{where} ({done})", "debug")
        is_server = member.task.job.cmd is None
        prepare = [do.Prepare(member.task_id, member.task)] if is_server else []
        return [said, *prepare, *self._start_when_complete()]

    def _start_when_complete(self) -> list[Action]:
        if self.members.with_runner < len(self.members):
            return []
        self.phase = Phase.RUNNING
        self.cluster = self.members.cluster()
        for member in self.members:
            self.members.move(member, Stage.STARTED)
        return [do.Start(tuple((m.task_id, m.task) for m in self.members), self.cluster)]

    def _ready(self, task_id: str, now: float) -> list[Action]:
        member = self.members.live(task_id)
        if member is None or member.stage is not Stage.STARTED:
            return []
        self.members.move(member, Stage.READY)
        member.ready_at = now
        if self.is_ready or not self.members.all_at_least(Stage.READY):
            return []
        self.is_ready = True
        self._stopwatch.lap("starting the tasks", now)
        return [do.AnnounceReady(self.cluster)]

    # Ends of tasks

    def _update(self, event: happened.TaskUpdated, now: float) -> list[Action]:
        self._reconciliation.heard_of(event.task_id)
        member = self.members.live(event.task_id)
        if member is None:
            return self._end_stray(event)
        if event.state == "TASK_UNREACHABLE":
            return self._unreachable(member, now)
        doubt = self._doubts.about(member)
        if not is_terminal(event.state):
            if doubt and doubt.is_partition:
                self._doubts.settle(member)
            return []
        reason = describe(event.state, event.message, event.reason)
        code = status_in(event.message) or (0 if event.state == "TASK_FINISHED" else 1)
        if member.has_runner and doubt is None:
            # The runner knows more (exit code, last lines) and its report is on its way.
            self._doubts.raise_about(member, Doubt(reason, code, now + SECOND_OPINION))
            return []
        if doubt and event.state == "TASK_KILLED":
            reason, code = doubt.reason, doubt.code  # by us, and we know better why
        if not member.has_runner and code in RUNNER_EXITS:
            reason = f"{reason}: {RUNNER_EXITS[code]}"
        return self._end(member, code, reason, (), now)

    def _end_stray(self, event: happened.TaskUpdated) -> list[Action]:
        """An attempt that was given up, or a task of nobody, must not go on."""
        is_ending = is_terminal(event.state) or event.state == "TASK_KILLING"
        if is_ending or not self.members.is_stray(event.task_id):
            return []
        return [do.Kill(event.task_id, event.agent_id)]

    def _unreachable(self, member: Member, now: float) -> list[Action]:
        if member in self._doubts:
            return []
        # As long as its runner is heard the task is well, whatever became of its agent.
        until = None if member.has_runner else now + UNREACHABLE_GRACE
        self._doubts.raise_about(member, Doubt("was out of reach too long", 1, until, True))
        where = f"{member.task.name} on {member.hostname} is out of reach of the master"
        patience = "its runner answers" if until is None else f"waiting {UNREACHABLE_GRACE:g} s"
        return [do.Say(f"{where}; {patience}", "warning")]

    def _agent_lost(self, agent_id: str) -> list[Action]:
        names = [m.task.name for m in self.members if m.is_live and m.agent_id == agent_id]
        if not names:
            return []
        return [do.Say(f"the agent of {', '.join(names)} is lost to the master", "warning")]

    def _keep_nodes(self, offer_ids: tuple[str, ...], agent_ids: Sequence[str]) -> list[Action]:
        """A training cannot move: tell the user, and the operator that we stay."""
        names = [m.task.name for m in self.members if m.is_live and m.agent_id in agent_ids]
        declined = do.DeclineInverse(offer_ids, LONG_REFUSAL)
        if not names:
            return [declined]
        text = f"the operator wants to take down the node of {_some(names)}; we go on there"
        return [do.Say(text, "warning"), declined]

    def _exit(self, event: happened.TaskExited, now: float) -> list[Action]:
        member = self.members.live(event.task_id)
        if member is None:
            return []
        if member.stage < Stage.STARTED and event.code not in RUNNER_EXITS:
            # The runner did its part and the task cannot: another attempt would end the same.
            member.attempt = MAX_ATTEMPTS
        return self._end(member, event.code, event.reason, event.tail, now)

    def _runner_lost(self, event: happened.RunnerLost, now: float) -> list[Action]:
        member = self.members.live(event.task_id)
        if member is None:
            return []
        doubt = self._doubts.about(member)
        if doubt and doubt.is_partition:
            reason = f"is out of reach of the master and of the launcher ({event.reason})"
            return self._end(member, doubt.code, reason, (), now)
        if doubt:
            return self._end(member, doubt.code, doubt.reason, (), now)
        # Mesos may be about to say why; if it says nothing the task must go all the same.
        reason = f"lost touch with the launcher ({event.reason})"
        self._doubts.raise_about(member, Doubt(reason, 1, now + SECOND_OPINION))
        return [do.Kill(member.task_id, member.agent_id)]

    def _end(
        self, member: Member, code: int, reason: str, tail: tuple[str, ...], now: float
    ) -> list[Action]:
        self._doubts.settle(member)
        member.ending = Ending(
            member.task,
            member.hostname,
            code,
            reason,
            tail,
            now,
            member.task_id,
            member.agent_url,
        )
        had_started = member.stage >= Stage.STARTED
        self.members.move(member, Stage.ENDED)
        if self.phase is Phase.STOPPING:
            return self._finish_when_stopped(now)
        if not had_started:
            return self._relaunch(member, now)
        if code != 0 or member.task.job.cmd is None:  # a server serves until it is stopped
            return self._fail(member, now)
        self._undecided.discard(member.task)
        return self._finish_when_decided(now)

    def _relaunch(self, member: Member, now: float) -> list[Action]:
        assert member.ending is not None
        reason = f"{member.task.name} on {member.hostname} {member.ending.reason}"
        if member.attempt >= MAX_ATTEMPTS:
            return self._fail(member, now)
        member.attempt += 1
        member.ending = None
        self.members.move(member, Stage.WAITING)
        again = f"launching it again, attempt {member.attempt} of {MAX_ATTEMPTS}"
        return [do.Say(f"{reason} before the cluster started; {again}", "warning"), do.Revive()]

    # Ends of the run

    def _fail(self, member: Member, now: float, addition: str = "") -> list[Action]:
        ending = member.ending
        assert ending is not None
        where = f" on {ending.hostname}" if ending.hostname else ""
        error = TaskFailed(member.task.name, f"{ending.reason}{where}{addition}", ending.code or 1)
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

    def _stop_requested(self, reason: str, exit_code: int, now: float) -> list[Action]:
        if self.phase is Phase.STOPPING:
            return self._finish(now)
        error = Interrupted(reason, exit_code) if exit_code else None
        return self._stop(Outcome(error=error), now)

    def _stop(self, outcome: Outcome, now: float) -> list[Action]:
        """The one way down, for success, failure and interruption alike."""
        self._stopwatch.lap("running" if self.is_ready else "starting the tasks", now)
        self.phase, self._stopping_with = Phase.STOPPING, outcome
        self._linger_until = None
        self._stop_by = now + KILL_GRACE + STOP_MARGIN
        todo: list[Action] = list(self._gang.release(0.0, "the run is ending"))
        for member in self.members:
            if member.has_runner:
                reason = str(outcome.error or "the run is over")
                todo.append(do.StopRunner(member.task_id, KILL_GRACE, reason))
            elif member.is_live:
                todo.append(do.Kill(member.task_id, member.agent_id))
        return [*todo, *self._finish_when_stopped(now)]

    def _finish_when_stopped(self, now: float) -> list[Action]:
        return [] if self.members.any_live else self._finish(now)

    def _finish(self, now: float) -> list[Action]:
        self.phase = Phase.FINISHED
        self._stopwatch.lap("stopping", now)
        outcome = self._stopping_with
        others = [
            m.ending
            for m in self.members
            if m.ending and m.ending.code and m.ending is not outcome.cause
        ]
        ends = Outcome(
            outcome.error,
            outcome.cause,
            tuple(sorted(others, key=lambda ending: ending.at)),
            tuple(m.task.name for m in self.members if m.is_live),
            self._stopwatch.laps,
        )
        return [do.Finish(ends)]

    # Time

    def _tick(self, now: float) -> list[Action]:
        todo = self._reconciliation.ask_if_due(now)
        if self.phase is Phase.GATHERING:
            todo += self._tick_gathering(now)
        for member, doubt in self._doubts.due(now):
            if member.is_live:
                todo += self._end(member, doubt.code, doubt.reason, (), now)
        if self._linger_until is not None and now >= self._linger_until:
            todo += self._stop(Outcome(), now)
        if self._stop_by is not None and now >= self._stop_by and self.phase is Phase.STOPPING:
            todo += self._finish(now)
        return todo

    def _tick_gathering(self, now: float) -> list[Action]:
        if self._start_by is not None and now >= self._start_by:
            return self._stop(Outcome(error=self._too_late()), now)
        todo: list[Action] = []
        if now >= self._report_at:
            self._report_at = now + REPORT_EVERY
            todo.append(do.Say(self._what_is_awaited(), "notice"))
        return [*todo, *self._gang.release_if_due(now)]

    def _too_late(self) -> TFMesosError:
        awaited = f"not started after {self._start_timeout:g} s: {self._what_is_awaited()}"
        if not self._subscribed:
            return MasterError(awaited)
        return ResourcesError(awaited) if self._waiting() else StartTimeout(awaited)

    def _what_is_awaited(self) -> str:
        if not self._subscribed:
            return "waiting for the master"
        if waiting := self._waiting():
            return self._gang.explain(waiting, len(self.members))
        missing = [f"{m.task.name} on {m.hostname}" for m in self.members if not m.has_runner]
        return f"waiting for {_some(missing)} to report to the launcher"


def _some(names: Sequence[str], most: int = 5) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
