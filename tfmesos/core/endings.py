"""How a task ended, according to its engine and its runner.

Both report an end, in any order, and the runner knows more (the exit code, the last lines): so a
first report counts only after a while.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import CANNOT_UNPACK, EVICTED, LAUNCHER_LOST, NODE_UNFIT, OLD_PYTHON, RUNNER_EXITS
from ..record import Record
from ..text import agreeing, join_names, shortened
from . import events as happened
from .actions import Action, Kill, Say
from .outcome import Ending
from .stopping import Stopping
from .tasks import Member, Stage, Tasks

SECOND_REPORT = 3.0  # seconds that engine and runner give each other to report an end
EVICTION_REASON = 10.0  # seconds for the engine to say why a node has ended a task
NO_SUCH_PROGRAM = (126, 127)  # a shell's codes: here it is the interpreter that is missing
LONGEST_LAST = 200  # characters of a last line that are shown
OUT_OF_TOUCH = 60.0  # seconds in which a runner out of touch is surely found or given up
ENDED_FOR_ENGINE = "the engine reports that it has ended"
UNREACHABLE_GRACE = 90.0  # seconds before a task behind a lost network counts as lost


class End(Record):
    """How the present attempt of a task ended."""

    member: Member
    code: int
    reason: str
    at: float
    tail: tuple[str, ...] = ()
    is_lost: bool = False  # the fault of its node, not of its command
    is_hopeless: bool = False  # another attempt would end the same
    is_transient: bool = False  # its node will be able to take it in a moment
    was_stopped: bool = False  # by us
    is_reported: bool = False  # by its runner, who knows best

    @property
    def is_good(self) -> bool:
        """A server serves until it is stopped; no end of it is good."""
        return self.code == 0 and self.member.task.job.cmd is not None

    def sentence(self, had_started: bool) -> str:
        is_early = not had_started and self.code != NODE_UNFIT  # which goes without saying
        when = " before the cluster started" if is_early else ""
        return f"{self.member.task.name} on {self.member.hostname} {self.reason}{when}"

    def with_last_line(self, had_started: bool) -> str:
        """In words, with what it wrote last: there is no report of it."""
        last = f" ({shortened(self.tail[-1], LONGEST_LAST)})" if self.tail else ""
        return f"{self.sentence(had_started)}{last}"

    def with_news(self, had_started: bool, earlier: Iterable[Ending]) -> str:
        """In words; of an auxiliary task with its last line, unless it ended so *earlier*."""
        task, last = self.member.task, self.tail[-1:]
        is_old = any(one.task == task and one.tail[-1:] == last for one in earlier)
        if not task.is_auxiliary or is_old:
            return self.sentence(had_started)
        return self.with_last_line(had_started)

    def for_report(self) -> Ending:
        member = self.member
        return Ending(
            member.task,
            member.hostname,
            self.code,
            self.reason,
            self.tail,
            self.at,
            member.task_id,
            was_stopped=self.was_stopped,
            is_reported=self.is_reported,
        )


Heard = tuple[End | None, list[Action]]
NOTHING: Heard = (None, [])


class Unconfirmed(Record):
    """An end that one side has reported and the other has not confirmed yet."""

    end: End
    until: float | None  # None: until the other side reports
    is_partition: bool = False  # the task may be well, only out of reach
    is_held_back: bool = False  # it is sure, but may be the consequence of another's end
    is_of_engine: bool = False  # the engine has reported it; its runner may be alive nevertheless
    stops_runner: bool = False  # and was stopped for that reason alone
    is_cut_off: bool = False  # its runner cannot be heard

    @property
    def is_awaited(self) -> bool:
        """Is there a runner that has yet to end?"""
        return self.stops_runner and not self.is_cut_off


class Endings:
    def __init__(self, members: Tasks, stopping: Stopping, nodes_alike: bool = False) -> None:
        self._members = members
        self._stopping = stopping
        self._nodes_alike = nodes_alike  # do all nodes lack what one of them lacks?
        self._unconfirmed: dict[Member, Unconfirmed] = {}
        self._out_of_touch: dict[Member, float] = {}  # and since when
        # Tasks that an operator has ended, and why:
        self._drained: dict[Member, happened.NodeDrained] = {}

    @property
    def deadline(self) -> float | None:
        times = (one.until for one in self._unconfirmed.values())
        return min((time for time in times if time is not None), default=None)

    def handle(self, event: happened.Event, now: float) -> Heard:
        """Take in what engine or runner says; return the end of a task that is sure now."""
        match event:
            case happened.TaskSeen(task_id):
                return None, self._task_seen(task_id)
            case happened.TaskUnreachable(task_id):
                return None, self._task_unreachable(task_id, now)
            case happened.NodeDrained(task_id):
                if member := self._members.live(task_id):
                    self._drained[member] = event
            case happened.TaskEnded():
                return self._task_ended(event, now)
            case happened.TaskExited():
                return self._task_exited(event, now)
            case happened.RunnerOutOfTouch(task_id):
                self._runner_out_of_touch(task_id, now)
            case happened.RunnerBack(task_id):
                self._runner_back(task_id)
            case happened.RunnerLost():
                return self._runner_lost(event, now)
        return NOTHING

    def due(self, now: float) -> list[End]:
        """The ends that were not contradicted in time, the earliest first."""
        known = self._unconfirmed.items()
        return self._take([m for m, one in known if one.until is not None and now >= one.until])

    def earlier_than(self, time: float) -> list[End]:
        """Ends that came before and are only waiting to be confirmed, the earliest first."""
        known = self._unconfirmed.items()
        earlier = [m for m, one in known if not one.is_partition and one.end.at <= time]
        awaited = [one for one in map(self._unconfirmed.get, earlier) if one and one.is_awaited]
        self._members.lingering.update(one.end.member.task_id for one in awaited)
        return self._take(earlier)

    def _take(self, members: list[Member]) -> list[End]:
        ends = [self._unconfirmed.pop(member).end for member in members]
        ends = [self._explained(end, end) for end in ends]
        return sorted((end for end in ends if end.member.is_live), key=lambda end: end.at)

    def forget(self, member: Member) -> None:
        """Its end is known, or it has proved to be alive."""
        self._unconfirmed.pop(member, None)
        self._drained.pop(member, None)
        self._found(member)

    def _runner_out_of_touch(self, task_id: str, now: float) -> None:
        self._members.lingering.discard(task_id)
        member = self._members.live(task_id)
        if member is None:
            return
        one = self._unconfirmed.get(member)
        if one and one.is_of_engine and one.until is not None:
            sooner = min(one.until, now + SECOND_REPORT)
            self._unconfirmed[member] = one.replace(until=sooner, is_cut_off=True)
        elif not self._is_reported(member):
            self._out_of_touch.setdefault(member, now)

    def _runner_back(self, task_id: str) -> None:
        if member := self._members.live(task_id):
            self._found(member)

    def _is_reported(self, member: Member) -> bool:
        one = self._unconfirmed.get(member)
        return one is not None and not one.is_partition

    def _found(self, member: Member) -> None:
        """The fate of *member* is known; report what was held back because of it."""
        if self._out_of_touch.pop(member, None) is None or self._out_of_touch:
            return
        for other, one in self._unconfirmed.items():
            if one.is_held_back:
                self._unconfirmed[other] = one.replace(until=one.end.at)

    def hold_back(self, end: End, now: float) -> Say | None:
        """Delay a failure that an unreachable task may have caused, and say so."""
        member = end.member
        missed = [m for m in self._out_of_touch if m is not member]
        if end.code == 0 or end.is_lost or not missed:
            return None
        self._unconfirmed[member] = Unconfirmed(end, now + OUT_OF_TOUCH, is_held_back=True)
        names = join_names([f"{m.task.name} on {m.hostname}" for m in missed])
        are = agreeing(len(missed), "is", "are")
        text = f"{member.task.name} {end.reason} while {names} {are} unreachable"
        return Say(f"{text}: waiting to see who failed first", "warning")

    def runner_registered(self, member: Member) -> None:
        """Its runner is connected, so it does not matter whether the engine can see it."""
        one = self._unconfirmed.get(member)
        if one and one.is_partition:
            self._unconfirmed[member] = one.replace(until=None)

    # What the engine says

    def _task_seen(self, task_id: str) -> list[Action]:
        """The task is alive. Kill it if its attempt was given up or if it belongs to no task."""
        member = self._members.live(task_id)
        if member is None:
            return [Kill(task_id)] if self._members.is_stray(task_id) else []
        one = self._unconfirmed.get(member)
        if one and one.is_partition:
            self.forget(member)
        return []

    def _task_unreachable(self, task_id: str, now: float) -> list[Action]:
        member = self._members.live(task_id)
        if member is None or member in self._unconfirmed:
            return self._task_seen(task_id) if member is None else []
        # As long as its runner is heard the task is well, whatever became of its node.
        until = None if member.has_runner else now + UNREACHABLE_GRACE
        end = End(member, 1, "was unreachable for too long", now, is_lost=True)
        self._unconfirmed[member] = Unconfirmed(end, until, is_partition=True)
        where = f"{member.task.name} on {member.hostname} is unreachable from the cluster"
        if member in self._out_of_touch:
            return [Say(f"{where}, and its runner cannot reach the launcher", "warning")]
        hope = "its runner answers" if until is None else f"waiting {UNREACHABLE_GRACE:g} s"
        return [Say(f"{where}; {hope}", "warning")]

    def _task_ended(self, event: happened.TaskEnded, now: float) -> Heard:
        member = self._members.live(event.task_id)
        if member is None:
            return NOTHING
        one = self._unconfirmed.get(member)
        is_heard = member not in self._out_of_touch
        end = self._end(member, event, self._out_of_touch.get(member, now))
        self._found(member)
        if one and (one.is_held_back or one.is_of_engine):
            return NOTHING
        if member.has_runner and (one is None or (one.is_partition and is_heard)):
            return None, self._await_report(end, is_heard, now)
        if one and (event.was_killed or one.end.is_reported):
            return self._explained(one.end, end), []  # we know better why, or the runner does
        return end, []

    def _await_report(self, end: End, is_heard: bool, now: float) -> list[Action]:
        """The runner knows more (exit code, last lines), and its report may be on its way.

        A runner that lives, because what the engine saw end was its executor, has to be stopped.
        """
        member = end.member
        until = now + (self._stopping.takes if is_heard else SECOND_REPORT)
        stops = not member.is_told_to_end
        self._unconfirmed[member] = Unconfirmed(
            end, until, is_of_engine=True, stops_runner=stops, is_cut_off=not is_heard
        )
        return [self._stopping.end_one(member, ENDED_FOR_ENGINE)] if stops else []

    def _explained(self, end: End, of_engine: End) -> End:
        """The end with what only the engine knows: who caused it, or that the node is lost."""
        if not end.reason.startswith(EVICTED):
            return end
        if drained := self._drained.get(end.member):
            return end.replace(reason=drained.reason, is_lost=drained.is_lost)
        if of_engine.is_lost:
            return of_engine.replace(tail=end.tail, is_reported=True)
        return end

    def _end(self, member: Member, event: happened.TaskEnded, at: float) -> End:
        code, reason = event.code, event.reason
        if code == LAUNCHER_LOST:  # which of the two notices it first is chance
            return End(member, 1, RUNNER_EXITS[code], at, is_lost=True)
        if code in RUNNER_EXITS:
            reason = f"{reason}: {RUNNER_EXITS[code]}"
        no_python = not member.has_runner and code in (*NO_SUCH_PROGRAM, OLD_PYTHON)
        return End(
            member,
            code,
            reason,
            at,
            is_lost=event.is_lost,
            is_hopeless=event.is_hopeless
            or code == CANNOT_UNPACK
            or (self._nodes_alike and no_python),
            is_transient=event.is_transient,
            was_stopped=event.was_killed and member not in self._drained,
        )

    # What the runner says

    def _task_exited(self, event: happened.TaskExited, now: float) -> Heard:
        self._members.lingering.discard(event.task_id)
        member = self._members.live(event.task_id)
        if member is None:
            return NOTHING
        # If the runner did its part and the task cannot, another attempt would end the same.
        may_pass = event.code in RUNNER_EXITS and event.code != CANNOT_UNPACK
        is_hopeless = member.stage < Stage.STARTED and not may_pass
        one = self._unconfirmed.get(member)
        at = one.end.at if one and not one.is_partition else now
        self._found(member)
        if one and one.stops_runner and event.was_stopped:
            # It ended for that reason:
            return one.end.replace(tail=event.tail, is_reported=True), []
        end = End(
            member,
            event.code,
            event.reason,
            at,
            event.tail,
            is_hopeless=is_hopeless,
            was_stopped=event.was_stopped,
            is_reported=True,
        )
        if event.reason.startswith(EVICTED) and one is None and member not in self._drained:
            self._unconfirmed[member] = Unconfirmed(end, now + EVICTION_REASON)
            return NOTHING
        return self._explained(end, one.end if one and one.is_of_engine else end), []

    def _runner_lost(self, event: happened.RunnerLost, now: float) -> Heard:
        self._members.lingering.discard(event.task_id)
        member = self._members.live(event.task_id)
        if member is None:
            return NOTHING
        one = self._unconfirmed.get(member)
        at = self._out_of_touch.get(member, now)
        if one and one.is_partition:
            reason = f"is unreachable from the cluster and from the launcher ({event.reason})"
            return End(member, one.end.code, reason, at, is_lost=True), []
        if one:
            return one.end, []
        # The engine may be about to say why; if it says nothing the task must go nevertheless.
        reason = f"lost touch with the launcher ({event.reason})"
        end = End(member, 1, reason, at, is_lost=True)
        self._unconfirmed[member] = Unconfirmed(end, now + SECOND_REPORT)
        return None, [Kill(member.task_id)]
