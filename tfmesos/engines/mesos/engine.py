"""Decides how a run gets its places from Mesos; does no I/O.

``handle`` takes what Mesos says (events.py) and what the lifecycle asks for (core.actions). It
returns what the client is to do (actions.py) and what the lifecycle is to know (core.events).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ...config.constraints import Node
from ...config.job import Task
from ...core import events as tell
from ...core.actions import Kill, LookForRoom, Place, Request, Say, StopPlacing, Wanted
from ...core.clocks import Clocks
from ...core.events import Event, Ticked
from ...errors import MasterError
from ...record import Record
from ..elastic import most, rest, room_for
from . import actions as do
from . import events as happened
from .actions import MesosAction
from .events import MesosEvent
from .feasibility import AgentQuery, KnownAgent, free, never
from .gang import Gang
from .maintenance import Maintenance
from .offers import Offer
from .placement import AgentLoad
from .reconciliation import Reconciliation
from .task_reasons import DRAINING
from .task_states import ending, is_terminal

EXPLAIN_AFTER = 0.5  # seconds after news of offers: an explanation looks at every agent
EXPLAIN_AGAIN = 5.0  # seconds without news

# Without these nothing is launched, or offered to us again; a repetition would be refused, too.
NEEDED_CALLS = ("ACCEPT", "DECLINE", "REVIVE")

Output = MesosAction | Event | Say


class Launched(Record):
    """An attempt at a task, and where it was launched."""

    task: Task
    agent_id: str
    agent_url: str
    node: Node  # what constraints see of its agent


class MesosEngine:
    hears: tuple[type[Event], ...] = ()

    def __init__(
        self, jitter: Callable[[], float] = lambda: 0.5, *, stop_grace: float = 0.0
    ) -> None:
        self._gang = Gang(jitter)
        self._maintenance = Maintenance(stop_grace)
        self._wanted: tuple[Wanted, ...] = ()
        self._sought: tuple[Task, ...] = ()  # those for which there may be room
        self._fewer_from = 0.0  # when optional tasks may be left out
        self._is_suppressed = False  # was the last request one for no place?
        self._launched: dict[str, Launched] = {}  # every attempt so far, by its task id
        self._agent_of: dict[str, str] = {}  # task id -> agent id, until Mesos says it has ended
        self._attempts: dict[Task, str] = {}  # the last one, of tasks that do not want a place
        self._reconciliation = Reconciliation()
        self._agents = AgentQuery()
        self._explain_at: float | None = None
        self._clocks: Clocks[Output] = Clocks(
            (lambda: self._reconciliation.deadline, self._reconcile),
            (lambda: self._gang.deadline, self._release),
            (lambda: self._agents.deadline if self._wanted else None, self._agents.ask),
            (lambda: self._explain_at, self._explain),
        )

    @property
    def deadline(self) -> float | None:
        return self._clocks.deadline

    def launched(self, task_id: str) -> Launched | None:
        """Where a task was launched, if it was."""
        return self._launched.get(task_id)

    def is_running(self, task_id: str) -> bool:
        """Has it been launched, and has Mesos not reported its end?"""
        return task_id in self._agent_of

    def handle(self, event: MesosEvent | Request | Ticked, now: float) -> Sequence[Output]:
        match event:
            case Place():
                return self._place(event, now)
            case StopPlacing(reason):
                return self._stop_placing(reason)
            case LookForRoom(tasks):
                self._sought = tasks
                return [do.CountAgents()]
            case Kill(task_id):
                return self._kill(task_id)
            case happened.Subscribed():
                return self._subscribed(event, now)
            case happened.Disconnected(reason):
                self._gang.forget()
                return [Say(f"lost the master: {reason}", "warning")]
            case happened.CallRefused():
                return self._refused(event)
            case happened.MasterSought(trouble):
                return [tell.EngineTrouble(trouble)]
            case happened.MasterGaveUp(error):
                return [tell.EngineGaveUp(error)]
            case happened.OffersReceived(offers):
                return self._take_offers(offers, now)
            case happened.OfferRescinded(offer_id):
                self._gang.rescind(offer_id)
            case happened.AgentsCounted():
                return self._count(event, now)
            case happened.InverseOffersReceived(offers):
                return [*self._maintenance.requested(offers, self._tasks_on)]
            case happened.TaskUpdated():
                return self._updated(event)
            case happened.AgentLost(agent_id):
                return [tell.NodeLost(self._tasks_on([agent_id]))]
            case Ticked():
                return self._clocks.tick(now)
        return []

    # What the lifecycle asks for

    def _place(self, request: Place, now: float) -> list[Output]:
        self._wanted = request.tasks
        self._fewer_from = now + request.hold
        self._gang.avoid(request.avoid)
        for wanted in request.tasks:
            self._attempts.pop(wanted.task, None)
        self._agents.begin(now)
        self._explain_at = now + EXPLAIN_AFTER
        is_suppressed = self._is_suppressed or bool(self._launched)
        self._is_suppressed = False
        return [do.Revive()] if is_suppressed else []

    def _stop_placing(self, reason: str) -> list[Output]:
        self._wanted = ()
        self._explain_at = None
        self._is_suppressed = True
        return [*self._gang.release(0.0, reason), do.Suppress()]

    def _kill(self, task_id: str) -> list[Output]:
        return [do.KillTask(task_id, self._agent_of.get(task_id, ""))]

    # What Mesos says

    def _subscribed(self, event: happened.Subscribed, now: float) -> list[Output]:
        self._gang.forget()
        said = Say(f"subscribed to {event.master} as framework {event.framework_id}")
        asked = self._reconciliation.begin(self._agent_of, now)
        return [said, *asked, tell.EngineReady()]

    def _refused(self, refused: happened.CallRefused) -> list[Output]:
        """Continue if the call is not needed, or is repeated anyway; else give up, and say why."""
        text = f"the master refused {refused.call} ({refused.reason})"
        if refused.call not in NEEDED_CALLS:
            return [Say(text, "warning")]
        back = [tell.TasksNotPlaced(refused.task_ids)] if refused.task_ids else []
        return [*back, tell.EngineGaveUp(MasterError(text))]

    def _take_offers(self, offers: Sequence[Offer], now: float) -> list[Output]:
        places, todo = self._gang.take(offers, self._wanted, self._seated(), now)
        if places:
            return [*self._launch(places, now), *todo]
        if now >= self._fewer_from and self._gang.is_due(now):
            return [*todo, *self._take_fewer(now)]
        self._explain_soon(now)
        return [*todo]

    def _take_fewer(self, now: float) -> list[Output]:
        """Begin with what is offered, if that is enough without the optional tasks."""
        seated = self._seated()
        _, reason = self._gang.explain([wanted.task for wanted in self._wanted], now)
        kept = most(self._wanted, lambda some: self._gang.could_take(some, seated, now))
        if kept is None:
            return []
        left = tell.TasksLeftOut(rest(self._wanted, kept), reason)
        self._wanted = kept
        places, todo = self._gang.take((), kept, seated, now)
        return [left, *self._launch(places, now), *todo]

    def _explain_soon(self, now: float) -> None:
        if self._explain_at is not None:
            self._explain_at = min(self._explain_at, now + EXPLAIN_AFTER)

    def _seated(self) -> list[tuple[Task, Node]]:
        """The tasks that are on agents, and where: it matters to those that join them."""
        attempts = self._attempts.items()
        live = [(task, task_id) for task, task_id in attempts if task_id in self._agent_of]
        return [(task, self._launched[i].node) for task, i in live if task.job.constraints]

    def _launch(self, loads: Sequence[AgentLoad], now: float) -> list[Output]:
        ids = {wanted.task: wanted.task_id for wanted in self._wanted}
        launches: list[Output] = []
        placed = []
        for load in loads:
            seats = tuple((ids.pop(seat.task), seat) for seat in load.seats)
            offer_ids = tuple(offer.id for offer in load.offers)
            launches.append(do.Launch(load.agent_id, load.hostname, offer_ids, seats))
            for task_id, seat in seats:
                self._note(task_id, seat.task, load)
                self._maintenance.launched(task_id, load.down_in)
                placed.append(tell.Placed(task_id, load.agent_id, load.hostname))
        self._wanted = tuple(wanted for wanted in self._wanted if wanted.task in ids)
        self._agents.close()
        if not self._wanted:
            self._explain_at = None
        self._reconciliation.watch((place.task_id for place in placed), now)
        return [tell.TasksPlaced(tuple(placed)), *launches]

    def _note(self, task_id: str, task: Task, load: AgentLoad) -> None:
        self._launched[task_id] = Launched(task, load.agent_id, load.agent_url, load.node)
        self._agent_of[task_id] = load.agent_id
        self._attempts[task] = task_id

    def _count(self, counted: happened.AgentsCounted, now: float) -> list[Output]:
        if self._sought:
            return self._look_for_room(counted.agents or ())
        if counted.agents is None or not self._agents.is_open:
            return []
        self._gang.agents = counted.agents
        self._gang.holders = counted.holders
        self._gang.quotas = counted.quotas
        self._explain_soon(now)
        reason = never([wanted.task for wanted in self._wanted], counted.agents)
        return self._give_up(reason, counted.agents, now) if reason else []

    def _look_for_room(self, agents: Sequence[KnownAgent]) -> list[Output]:
        """What our own tasks use is available to the next ones, too."""
        running = [self._launched[i] for i in self._agent_of if i in self._launched]
        there = free(agents, [(one.agent_id, one.task.job.needs) for one in running])
        sought = self._sought
        self._sought = ()
        room = room_for(sought, lambda some: not never(some, there)) if there else 0
        return [tell.RoomSeen(room)]

    def _give_up(self, reason: str, agents: Sequence[KnownAgent], now: float) -> list[Output]:
        """The run does not wait for what can never be placed; without it, the others may fit."""

        def fits(some: Sequence[Wanted]) -> bool:
            return not never([wanted.task for wanted in some], agents)

        kept = most(self._wanted, fits)
        if kept is None:
            return [tell.Impossible(reason)]
        left = tell.TasksLeftOut(rest(self._wanted, kept), reason)
        self._wanted = kept
        return [left, *self._take_offers((), now)]

    def _updated(self, event: happened.TaskUpdated) -> list[Output]:
        self._reconciliation.heard_of(event.task_id)
        has_ended = is_terminal(event.state)
        is_draining = event.reason == DRAINING
        drained = [tell.NodeDrained(event.task_id, is_notice=not has_ended)] if is_draining else []
        if has_ended:
            self._agent_of.pop(event.task_id, None)
            return [*drained, ending(event.task_id, event.state, event.message, event.reason)]
        self._agent_of.setdefault(event.task_id, event.agent_id)
        if event.state == "TASK_UNREACHABLE":
            return [tell.TaskUnreachable(event.task_id)]
        seen = [] if event.state == "TASK_KILLING" else [tell.TaskSeen(event.task_id)]
        return [*drained, *seen]

    def _tasks_on(self, agent_ids: Collection[str]) -> tuple[str, ...]:
        return tuple(i for i, agent_id in self._agent_of.items() if agent_id in agent_ids)

    # When time has passed

    def _release(self, now: float) -> list[Output]:
        """Take what there is on nodes that will soon be taken down, or return everything."""
        return [*self._take_offers((), now), *self._gang.release_if_due(now)]

    def _reconcile(self, now: float) -> list[Output]:
        return list(self._reconciliation.ask(self._agent_of, now))

    def _explain(self, now: float) -> list[Output]:
        self._explain_at = now + EXPLAIN_AGAIN
        return [tell.Waiting(*self._gang.explain([wanted.task for wanted in self._wanted], now))]
