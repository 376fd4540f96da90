"""How a task ended, out of the words of two witnesses: Mesos and the task's runner.

Both tell of an end, in any order, and the runner knows more (the exit code, the last lines):
so whoever comes first is believed only after a while.
"""

from __future__ import annotations

from . import events as happened
from .actions import Action, Kill, Say
from .record import Record
from .roster import Member, Roster, Stage
from .task_info import (
    DRAINED,
    DRAINING,
    OUT_OF_MEMORY,
    describe,
    is_lost,
    is_passing,
    is_terminal,
    status_in,
)
from .wire import EVICTED, LAUNCHER_LOST, RUNNER_EXITS
from .words import some

SECOND_OPINION = 3.0  # seconds that Mesos and the runner give each other to report an end
KILLED = 137  # as a shell counts a SIGKILL
NO_SUCH_PROGRAM = (126, 127)  # a shell's codes: here it is the interpreter that is missing
OUT_OF_TOUCH = 60.0  # seconds in which a runner out of touch is surely found or given up
UNREACHABLE_GRACE = 90.0  # seconds before a task behind a lost network counts as lost


class Verdict(Record):
    """How the present attempt of a task ended."""

    member: Member
    code: int
    reason: str
    at: float
    tail: tuple[str, ...] = ()
    is_lost: bool = False  # its node failed it, not its command
    is_hopeless: bool = False  # another attempt would end the same
    is_passing: bool = False  # its node will be able to take it in a moment
    was_stopped: bool = False  # by us
    is_reported: bool = False  # by its runner, who knows best


Heard = tuple[Verdict | None, list[Action]]
NOTHING: Heard = (None, [])


class Doubt(Record):
    """An end that one side has reported and the other has not confirmed yet."""

    verdict: Verdict
    until: float | None  # None: until the other side speaks
    is_partition: bool = False  # the task may be well, only out of reach
    is_put_off: bool = False  # it is sure, but may be the consequence of another's end


class Witnesses:
    def __init__(self, members: Roster, alike: bool) -> None:
        self._members = members
        self._alike = alike  # do all nodes lack what one of them lacks?
        self._doubts: dict[Member, Doubt] = {}
        self._missed: dict[Member, float] = {}  # whose runner is out of touch, and since when
        self._drained: set[Member] = set()  # on agents that an operator empties

    @property
    def deadline(self) -> float | None:
        times = (doubt.until for doubt in self._doubts.values())
        return min((time for time in times if time is not None), default=None)

    def due(self, now: float) -> list[Verdict]:
        """The ends that nobody has contradicted in time, the earliest first."""
        doubts = self._doubts.items()
        return self._take([m for m, d in doubts if d.until is not None and now >= d.until])

    def earlier_ends(self, than: float) -> list[Verdict]:
        """Ends that came before and are only waiting to be confirmed, the earliest first."""
        doubts = self._doubts.items()
        return self._take([m for m, d in doubts if not d.is_partition and d.verdict.at <= than])

    def _take(self, members: list[Member]) -> list[Verdict]:
        """What is doubted of *members*, no longer doubted, the earliest first."""
        verdicts = [self._doubts.pop(member).verdict for member in members]
        return sorted((v for v in verdicts if v.member.is_live), key=lambda v: v.at)

    def settle(self, member: Member) -> None:
        self._doubts.pop(member, None)
        self._drained.discard(member)
        self._find(member)

    def miss(self, task_id: str, now: float) -> None:
        member = self._members.live(task_id)
        if member and not self._is_known(member):
            self._missed.setdefault(member, now)

    def meet_again(self, task_id: str) -> None:
        if member := self._members.live(task_id):
            self._find(member)

    def _is_known(self, member: Member) -> bool:
        """Has its end been reported, though not confirmed?"""
        doubt = self._doubts.get(member)
        return doubt is not None and not doubt.is_partition

    def _find(self, member: Member) -> None:
        """It is known what became of *member*; what was put off for its sake is due."""
        if self._missed.pop(member, None) is None or self._missed:
            return
        for other, doubt in self._doubts.items():
            if doubt.is_put_off:
                self._doubts[other] = doubt.but(until=doubt.verdict.at)

    def put_off(self, verdict: Verdict, now: float) -> Say | None:
        """Let a failure wait that a task out of touch may be the cause of, and say so."""
        member = verdict.member
        missed = [m for m in self._missed if m is not member]
        if verdict.code == 0 or verdict.is_lost or not missed:
            return None
        self._doubts[member] = Doubt(verdict, now + OUT_OF_TOUCH, is_put_off=True)
        names = some([f"{m.task.name} on {m.hostname}" for m in missed])
        text = f"{member.task.name} {verdict.reason} while {names} is out of touch"
        return Say(f"{text}: waiting to see who fell first", "warning")

    def hear_mesos(self, event: happened.TaskUpdated, now: float) -> Heard:
        member = self._members.live(event.task_id)
        if member is None:
            return None, self._end_stray(event)
        if event.state == "TASK_UNREACHABLE":
            return None, self._unreachable(member, now)
        if event.reason == DRAINING:
            self._drained.add(member)
        doubt = self._doubts.get(member)
        if not is_terminal(event.state):
            if doubt and doubt.is_partition:
                self.settle(member)
            return NOTHING
        at = self._missed.get(member, now)
        verdict = _in_words_of_mesos(member, event, at, self._alike)
        self._find(member)
        if doubt and doubt.is_put_off:
            return NOTHING
        if member.has_runner and doubt is None:
            # The runner knows more (exit code, last lines) and its report is on its way.
            self._doubts[member] = Doubt(verdict, now + SECOND_OPINION)
            return NOTHING
        if doubt and (event.state == "TASK_KILLED" or doubt.verdict.is_reported):
            return self._explained(doubt.verdict), []  # we know better why, or the runner does
        return verdict, []

    def _explained(self, verdict: Verdict) -> Verdict:
        """The verdict with what Mesos alone knows: that an operator is behind it."""
        if verdict.member not in self._drained or not verdict.reason.startswith(EVICTED):
            return verdict
        return verdict.but(reason=DRAINED, is_lost=True)

    def hear_runner(self, event: happened.TaskExited, now: float) -> Heard:
        member = self._members.live(event.task_id)
        if member is None:
            return NOTHING
        # If the runner did its part and the task cannot, another attempt would end the same.
        is_hopeless = member.stage < Stage.STARTED and event.code not in RUNNER_EXITS
        doubt = self._doubts.get(member)
        at = doubt.verdict.at if doubt and not doubt.is_partition else now
        self._find(member)
        verdict = Verdict(
            member,
            event.code,
            event.reason,
            at,
            event.tail,
            is_hopeless=is_hopeless,
            was_stopped=event.was_stopped,
            is_reported=True,
        )
        if event.reason.startswith(EVICTED) and doubt is None and member not in self._drained:
            self._doubts[member] = Doubt(verdict, now + SECOND_OPINION)  # Mesos may say why
            return NOTHING
        return self._explained(verdict), []

    def miss_runner(self, event: happened.RunnerLost, now: float) -> Heard:
        member = self._members.live(event.task_id)
        if member is None:
            return NOTHING
        doubt = self._doubts.get(member)
        if doubt and doubt.is_partition:
            reason = f"is out of reach of the master and of the launcher ({event.reason})"
            at = self._missed.get(member, now)
            return Verdict(member, doubt.verdict.code, reason, at, is_lost=True), []
        if doubt:
            return doubt.verdict, []
        # Mesos may be about to say why; if it says nothing the task must go all the same.
        reason = f"lost touch with the launcher ({event.reason})"
        verdict = Verdict(member, 1, reason, self._missed.get(member, now), is_lost=True)
        self._doubts[member] = Doubt(verdict, now + SECOND_OPINION)
        return None, [Kill(member.task_id, member.agent_id)]

    def _end_stray(self, event: happened.TaskUpdated) -> list[Action]:
        """An attempt that was given up, or a task of nobody, must not go on."""
        is_ending = is_terminal(event.state) or event.state == "TASK_KILLING"
        if is_ending or not self._members.is_stray(event.task_id):
            return []
        return [Kill(event.task_id, event.agent_id)]

    def _unreachable(self, member: Member, now: float) -> list[Action]:
        if member in self._doubts:
            return []
        # As long as its runner is heard the task is well, whatever became of its agent.
        until = None if member.has_runner else now + UNREACHABLE_GRACE
        verdict = Verdict(member, 1, "was out of reach too long", now, is_lost=True)
        self._doubts[member] = Doubt(verdict, until, is_partition=True)
        where = f"{member.task.name} on {member.hostname} is out of reach of the master"
        if member in self._missed:
            return [Say(f"{where}, and its runner of the launcher", "warning")]
        patience = "its runner answers" if until is None else f"waiting {UNREACHABLE_GRACE:g} s"
        return [Say(f"{where}; {patience}", "warning")]


def _in_words_of_mesos(
    member: Member, event: happened.TaskUpdated, at: float, alike: bool
) -> Verdict:
    reason = describe(event.state, event.message, event.reason)
    code = status_in(event.message) or (0 if event.state == "TASK_FINISHED" else 1)
    if event.reason == OUT_OF_MEMORY:
        code = KILLED
    if code == LAUNCHER_LOST:  # which of the two notices first is chance
        return Verdict(member, 1, RUNNER_EXITS[code], at, is_lost=True)
    if code in RUNNER_EXITS:
        reason = f"{reason}: {RUNNER_EXITS[code]}"
    return Verdict(
        member,
        code,
        reason,
        at,
        is_lost=is_lost(event.state, event.reason),
        is_hopeless=alike and not member.has_runner and code in NO_SUCH_PROGRAM,
        is_passing=is_passing(event.message),
        was_stopped=event.state == "TASK_KILLED" and event.reason != DRAINING,
    )
