"""Decides how a run gets its places from Kubernetes; does no I/O.

``handle`` takes what the API says (events.py) and what the lifecycle asks for (core.actions). It
returns what the driver is to do (actions.py) and what the lifecycle is to know (core.events).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...core import events as tell
from ...core.actions import Kill, LookForRoom, Place, Request, Say, StopPlacing, Wanted
from ...core.clocks import Clocks
from ...core.events import Event, Ticked
from . import actions as do
from . import events as happened
from .actions import KubernetesAction
from .attempts import Attempt, Attempts
from .events import KubernetesEvent, NodeRoom
from .explain import explain
from .gang import HOLD, Gang
from .image_problems import HOPELESS_AFTER, SAYS_LITTLE, trouble
from .node_room import RoomSearch
from .pod_ends import DELETED, KILLED, deletion, ending, may_say_more, pod_has_reason, preemption
from .pod_status import PodSeen

EXPLAIN_AFTER = 0.5  # seconds after news: an explanation looks at every pod
COUNT_EVERY = 30.0  # seconds between two looks at the nodes
ASK_QUEUE_AFTER = 2.0  # seconds: a queue looks at pods when all of them are made
ASK_QUEUE_EVERY = 5.0  # seconds
POD_REASON = 5.0  # seconds for a pod to say why its container was killed
GIVE_UP_GRACE = 5.0  # seconds for the runner of a pod that is given up; no command runs there yet

Output = KubernetesAction | Event | Say


class KubernetesEngine:
    hears: tuple[type[Event], ...] = ()

    def __init__(
        self,
        jitter: Callable[[], float] = lambda: 0.5,
        hold: float = HOLD,
        images: Iterable[tuple[str, str]] = (),
        has_queue: bool = False,
    ) -> None:
        """*images* are those of the jobs, for words about them."""
        self._attempts = Attempts()
        self._troubled: list[Attempt] = []  # those whose container does not start, and some more
        self._held: dict[str, tuple[float, tell.TaskEnded]] = {}  # ends that a pod may explain
        self._gang = Gang(jitter, hold)
        self._images = dict(images)
        self._wanted: dict[str, Wanted] = {}  # by task id, until they have a place
        self._avoid: Mapping[str, float] = {}
        self._nodes: tuple[NodeRoom, ...] = ()
        self._room_search = RoomSearch()
        self._count_at: float | None = None
        self._has_queue = has_queue
        self._queue_says = ""
        self._ask_queue_at: float | None = None
        self._rounds = 0
        self._explain_at: float | None = None
        self._is_lost = False  # is the server out of reach?
        self._clocks: Clocks[Output] = Clocks(
            (lambda: self._gang.release_at, self._give_up_gang),
            (lambda: self._gang.return_at, self._create),
            (self._next_hopeless, self._end_hopeless),
            (self._next_held, self._end_held),
            (lambda: self._count_at, self._count_nodes),
            (lambda: self._ask_queue_at, self._ask_queue),
            (lambda: self._explain_at, self._explain),
        )

    @property
    def deadline(self) -> float | None:
        return self._clocks.deadline

    def handle(self, event: KubernetesEvent | Request | Ticked, now: float) -> Sequence[Output]:
        match event:
            case Place():
                return self._place(event, now)
            case StopPlacing():
                return self._stop_placing()
            case LookForRoom(tasks):
                return [self._room_search.begin(tasks)]
            case Kill(task_id):
                return self._kill(task_id)
            case happened.Connected(server, namespace):
                return [Say(f"namespace {namespace} at {server}"), tell.EngineReady()]
            case happened.Disconnected(reason):
                return self._disconnected(reason)
            case happened.Reconnected():
                return self._reconnected()
            case happened.ServerSought(text):
                return [tell.EngineTrouble(text)]
            case happened.ServerGaveUp(error):
                return [tell.EngineGaveUp(error)]
            case happened.PodsRefused():
                return self._refused(event, now)
            case happened.PodsListed(pods):
                return self._listed(pods, now)
            case happened.PodChanged(pod):
                return self._changed(pod, now)
            case happened.PodGone(name):
                return self._gone(name, now)
            case happened.PodPreempted(name, detail):
                return self._preempted(name, detail)
            case happened.NodesCounted(nodes):
                return self._counted(nodes, now)
            case happened.RoomCounted(nodes):
                return self._room_search.end(nodes)
            case happened.QueueSaid(reason):
                return self._queue_said(reason, now)
            case Ticked():
                return self._clocks.tick(now)
        return []

    # What the lifecycle asks for

    def _place(self, request: Place, now: float) -> list[Output]:
        self._wanted = {wanted.task_id: wanted for wanted in request.tasks}
        self._avoid = request.avoid
        for one in self._attempts:
            one.is_kept = request.others_run and one.is_live and one.is_placed
        self._explain_at = now + EXPLAIN_AFTER
        self._count_at = now + EXPLAIN_AFTER
        self._queue_says = ""
        unwanted = [one for one in self._attempts.waiting() if one.task_id not in self._wanted]
        todo = self._delete(unwanted)
        if old := self._attempts.replaced(self._wanted.values()):
            todo.append(do.DeletePods(tuple(old)))
        return todo if self._gang.return_at else [*todo, *self._create(now)]

    def _create(self, now: float) -> list[Output]:
        """Create the pods that are wanted and do not exist."""
        wanted = self._wanted.values()
        missing = [one for one in wanted if self._attempts.of_task(one.task_id) is None]
        self._gang.begin(any(one.is_placed for one in self._attempts if self._is_idle(one)))
        if not missing:
            return []
        pods = tuple(self._attempts.add(one.task_id, one.task) for one in missing)
        avoided = tuple(node for node, until in self._avoid.items() if until > now)
        self._rounds += 1
        if self._has_queue:
            self._ask_queue_at = now + ASK_QUEUE_AFTER
        return [do.CreatePods(pods, avoided, self._rounds)]

    def _stop_placing(self) -> list[Output]:
        self._wanted = {}
        self._gang.stop()
        self._ask_no_more()
        return self._delete(self._attempts.waiting())

    def _ask_no_more(self) -> None:
        """For now, nobody waits for a place."""
        self._explain_at = self._count_at = self._ask_queue_at = None

    def _delete(self, attempts: Iterable[Attempt]) -> list[Output]:
        """Give up pods that the lifecycle does not know (any more)."""
        names = self._attempts.give_up(attempts)
        return [do.DeletePods(tuple(names), GIVE_UP_GRACE)] if names else []

    def _kill(self, task_id: str) -> list[Output]:
        attempt = self._attempts.of_task(task_id)
        if attempt is None or attempt.is_ended:
            return []
        attempt.was_killed = True
        return [do.DeletePods((attempt.name,))]

    # What the server says

    def _disconnected(self, reason: str) -> list[Output]:
        is_news = not self._is_lost
        self._is_lost = True
        return [Say(f"lost the API server: {reason}", "warning")] if is_news else []

    def _reconnected(self) -> list[Output]:
        was_lost = self._is_lost
        self._is_lost = False
        return [Say("the API server is back", "notice")] if was_lost else []

    def _refused(self, refused: happened.PodsRefused, now: float) -> list[Output]:
        if not refused.is_quota:
            return [tell.EngineGaveUp(refused.error)]
        for one in self._attempts.waiting():
            one.refusal = str(refused.error)
        return self._give_up_gang(now)

    def _counted(self, nodes: tuple[NodeRoom, ...] | None, now: float) -> list[Output]:
        self._nodes = nodes or ()
        if nodes is None:
            self._count_at = None
        if self._wanted and self._gang.return_at is None:
            self._explain_soon(now)
        return []

    def _queue_said(self, reason: str | None, now: float) -> list[Output]:
        if reason is None:
            self._ask_queue_at = None
        elif reason != self._queue_says and self._wanted:
            self._queue_says = reason
            self._explain_soon(now)
        return []

    def _listed(self, pods: Sequence[PodSeen], now: float) -> list[Output]:
        there = {pod.name for pod in pods}
        todo = [output for pod in pods for output in self._changed(pod, now)]
        known = [one for one in self._attempts if one.is_live and one.is_known]  # others may come
        missing = [one.name for one in known if one.name not in there]
        return [*todo, *(output for name in missing for output in self._gone(name, now))]

    def _changed(self, pod: PodSeen, now: float) -> list[Output]:
        attempt = self._attempts.named(pod.name)
        if attempt is None or not attempt.is_live:
            return []
        attempt.is_known = True
        todo: list[Output] = []
        if not attempt.is_placed:
            if not (pod.is_scheduled or pod.has_ended):
                return self._unplaced(attempt, pod, now)
            todo += self._placed(attempt, pod.node, now)
        return [*todo, *self._of_placed(attempt, pod, now)]

    def _unplaced(self, attempt: Attempt, pod: PodSeen, now: float) -> list[Output]:
        if pod.is_deleting:  # a queue may keep it so for long
            return self._gone(pod.name, now)
        if pod.unschedulable and pod.unschedulable != attempt.refusal:
            attempt.refusal = pod.unschedulable
            self._explain_soon(now)
        return []

    def _explain_soon(self, now: float) -> None:
        if self._explain_at is None:
            self._explain_at = now + EXPLAIN_AFTER

    def _placed(self, attempt: Attempt, node: str, now: float) -> list[Output]:
        attempt.is_placed = True
        self._wanted.pop(attempt.task_id, None)
        if self._wanted:
            self._gang.hold(now)
            self._explain_soon(now)
        else:
            self._gang.complete()
            self._ask_no_more()
        return [tell.TasksPlaced((tell.Placed(attempt.task_id, node, node),))]

    def _of_placed(self, attempt: Attempt, pod: PodSeen, now: float) -> list[Output]:
        task_id, was_killed = attempt.task_id, attempt.was_killed
        leaving = self._leaving(attempt, pod)
        if end := ending(task_id, attempt.task, pod, was_killed):
            if may_say_more(pod) and not (was_killed or attempt.leaving):
                self._held.setdefault(task_id, (now + POD_REASON, end))
                return leaving
            is_of_pod = pod_has_reason(pod) and not was_killed  # its runner does not know it
            why = [tell.NodeDrained(task_id, end.reason, end.is_lost)] if is_of_pod else []
            return [*leaving, *why, self._end(attempt, end)]
        if said := trouble(pod, self._images.get(attempt.task.job.name, "")):
            return [*leaving, *self._in_trouble(attempt, pod.waiting, said, now)]
        if pod.is_running:
            attempt.trouble = ""
            attempt.hopeless_at = None
            return [*leaving, *self._running(attempt, pod)]
        return leaving

    def _end(self, attempt: Attempt, end: tell.TaskEnded) -> tell.TaskEnded:
        attempt.is_ended = True
        attempt.hopeless_at = None
        self._held.pop(attempt.task_id, None)
        return end

    def _leaving(self, attempt: Attempt, pod: PodSeen) -> list[Output]:
        """Somebody deletes the pod: its runner is about to report that it was asked to end."""
        if not pod.is_deleting or attempt.was_killed or attempt.leaving:
            return []
        attempt.leaving = deletion(pod)
        is_told = not (
            pod.has_ended or pod.is_cut_off
        )  # a silent node does not tell the task anything
        return [tell.NodeDrained(attempt.task_id, attempt.leaving, is_notice=is_told)]

    def _preempted(self, name: str, detail: str) -> list[Output]:
        attempt = self._attempts.named(name)
        if attempt is None or not attempt.is_live:
            return []
        attempt.leaving = preemption(detail)
        return [tell.NodeDrained(attempt.task_id, attempt.leaving)]

    def _in_trouble(self, attempt: Attempt, kind: str, said: str, now: float) -> list[Output]:
        """The kubelet tries again; we wait for that a little, and report it."""
        is_news = not attempt.trouble
        if is_news:
            attempt.trouble_since = now
            self._troubled.append(attempt)
        if is_news or kind not in SAYS_LITTLE:
            attempt.trouble = said
        attempt.hopeless_at = attempt.trouble_since + HOPELESS_AFTER[kind]
        if attempt.hopeless_at <= now:
            return self._end_hopeless(now)
        return [Say(f"{attempt.task.name} {said}", "warning")] if is_news else []

    def _running(self, attempt: Attempt, pod: PodSeen) -> list[Output]:
        if pod.is_cut_off:
            is_news = not attempt.is_cut_off
            attempt.is_cut_off = True
            lost = [tell.NodeLost((attempt.task_id,)), tell.TaskUnreachable(attempt.task_id)]
            return [*lost] if is_news else []
        is_news = not attempt.is_seen or attempt.is_cut_off
        attempt.is_seen = True
        attempt.is_cut_off = False
        return [tell.TaskSeen(attempt.task_id)] if is_news else []

    def _gone(self, name: str, now: float) -> list[Output]:
        attempt = self._attempts.named(name)
        if attempt is None or not attempt.is_live:
            return []
        if not attempt.is_placed:  # somebody does not want it: the others are deleted, too
            attempt.refusal = DELETED
            return self._give_up_gang(now)
        attempt.is_ended = True
        if attempt.was_killed:
            return [tell.TaskEnded(attempt.task_id, KILLED, "was killed", was_killed=True)]
        reason = attempt.leaving or DELETED
        return [tell.TaskEnded(attempt.task_id, 1, reason, is_lost=True)]

    # When time has passed

    def _give_up_gang(self, now: float) -> list[Output]:
        """Delete everything that was placed, and come back later."""
        if not self._wanted:
            return []
        if left := self._optional_rest():
            return self._go_on_without(left, now)
        reason = self._reason()
        in_vain = [one for one in self._attempts if self._is_idle(one)]
        placed = tuple(one.task_id for one in in_vain if one.is_placed)
        self._wanted = {one.task_id: Wanted(one.task_id, one.task) for one in in_vain}
        away = self._gang.give_up(now)
        self._ask_no_more()
        back = [tell.TasksNotPlaced(placed)] if placed else []
        text = f"{reason}; the nodes are left to others for {away:.0f} s"
        return [*self._delete(in_vain), *back, tell.Waiting(0, text)]

    def _optional_rest(self) -> list[Attempt]:
        """The pods without which there is room for all others; none if there is no such choice.

        The tasks that stay are the first ones of their job, whichever pods have a place.
        """
        idle = [one for one in self._attempts if self._is_idle(one)]
        missing = sum(not one.is_placed for one in idle)
        optional = [one for one in idle if one.task.is_optional]
        optional.sort(key=lambda one: one.task.index)
        return optional[-missing:] if 0 < missing <= len(optional) else []

    def _go_on_without(self, left: Sequence[Attempt], now: float) -> list[Output]:
        """The cluster begins with fewer tasks, which use the room that the others gave up."""
        reason = self._reason()
        ids = tuple(one.task_id for one in left)
        placed = tuple(one.task_id for one in left if one.is_placed)
        back = [tell.TasksNotPlaced(placed)] if placed else []
        for task_id in ids:
            self._wanted.pop(task_id, None)
        deleted = self._delete(left)
        if self._wanted:
            self._gang.hold_again(now)
        else:
            self._gang.complete()
            self._explain_at = self._count_at = None
        return [*deleted, *back, tell.TasksLeftOut(ids, reason)]

    def _is_idle(self, attempt: Attempt) -> bool:
        """Was it made for the cluster that is still incomplete?"""
        return attempt.is_live and not (attempt.was_killed or attempt.is_kept)

    def _next_hopeless(self) -> float | None:
        """Called after every event, so it looks only at pods in trouble."""
        self._troubled = [one for one in self._troubled if one.is_live]
        times = (one.hopeless_at for one in self._troubled)
        return min((time for time in times if time is not None), default=None)

    def _end_hopeless(self, now: float) -> list[Output]:
        """Pods that have not started by now never will."""
        todo: list[Output] = []
        for one in self._troubled:
            if one.is_live and one.hopeless_at is not None and one.hopeless_at <= now:
                one.is_ended = True
                one.hopeless_at = None
                todo.append(tell.TaskEnded(one.task_id, 1, one.trouble, is_hopeless=True))
        return todo

    def _next_held(self) -> float | None:
        return min((until for until, _ in self._held.values()), default=None)

    def _end_held(self, now: float) -> list[Output]:
        """Their pods have had enough time to say why."""
        todo: list[Output] = []
        for task_id, (until, end) in list(self._held.items()):
            if until <= now:
                del self._held[task_id]
                attempt = self._attempts.of_task(task_id)
                todo += [self._end(attempt, end)] if attempt and attempt.is_live else []
        return todo

    def _count_nodes(self, now: float) -> list[Output]:
        self._count_at = now + COUNT_EVERY
        return [do.CountNodes()]

    def _ask_queue(self, now: float) -> list[Output]:
        self._ask_queue_at = now + ASK_QUEUE_EVERY
        return [do.AskQueue()]

    def _explain(self, now: float) -> list[Output]:
        self._explain_at = None
        return [tell.Waiting(0, self._reason())]

    def _reason(self) -> str:
        if self._queue_says:
            return f"the queue says: {self._queue_says}"
        refused = [(one.task, one.refusal) for one in self._attempts.waiting()]
        return explain(refused, self._nodes) or "no place has been found yet"
