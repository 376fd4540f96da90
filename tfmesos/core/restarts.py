"""Which tasks are restarted, after which exit codes, how often and when."""

from __future__ import annotations

from collections import Counter
from math import inf

from ..config.restart_settings import RestartPolicy
from ..record import Record
from .actions import PreviousPlace
from .check_reasons import CheckReasons
from .endings import NO_SUCH_PROGRAM, End
from .tasks import Member

LONGEST_PAUSE = 30.0  # seconds
PREVIOUS_PLACE_ONLY = 10.0  # seconds for which only its previous place will do for a restarted task
TRANSIENT_FOR = 60.0  # seconds after which a transient condition counts as a failure
PASSING_PAUSES = (1.0, 2.0, 4.0, 8.0)  # seconds; the last of them from then on


class Restart(Record):
    """A restart that was granted."""

    of_all: bool  # everyone, or only the task that ended
    number: int  # 1 for the first; 0 if it does not count
    limit: float
    pause: float  # seconds to wait before it
    is_requested: bool = False  # by the owner of the run
    elsewhere: bool = False  # on another node, then
    keeps_place: float = 0.0  # seconds for which only its previous place will do, in any case
    is_planned: bool = False  # by a rolling update: it stops the task itself
    words: str = ""  # the words about it, if they are not the usual ones

    def __str__(self) -> str:
        if self.words:
            return self.words
        if self.is_requested:
            where = "on another node" if self.elsewhere else "there"
            return f"starting it again {where}, as its owner asked"
        if not self.number:
            return f"its GPUs are not free yet: trying again in {self.pause:g} s"
        what = "restarting all tasks" if self.of_all else "restarting it"
        when = f" in {self.pause:g} s" if self.pause else ""
        limit = "" if self.limit == inf else f" of {self.limit}"
        return f"{what}{when} (restart {self.number}{limit})"

    def blames_node(self, end: End, had_started: bool) -> bool:
        """Does it count against the node of the task?"""
        has_failed = (not had_started or end.is_lost) and not end.is_transient
        return self.elsewhere or (has_failed and not self.keeps_place)

    def previous_place(self, end: End, had_started: bool, now: float) -> PreviousPlace | None:
        """Its previous place, where the others look for it; not if that is what failed."""
        if not self.keeps_place and (not had_started or end.is_lost or self.elsewhere):
            return None
        until = now + self.pause + (self.keeps_place or PREVIOUS_PLACE_ONLY)
        return PreviousPlace(end.member.node, end.member.port, until)


class Restarts:
    def __init__(self, policy: RestartPolicy) -> None:
        self._policy = policy
        self._spent: Counter[str] = Counter()  # by task; under "" those of all tasks
        self._due: dict[Member, float] = {}
        self._requested: dict[str, Restart] = {}  # by the id of the attempt
        self._checks = CheckReasons()
        self._passing: dict[str, list[float]] = {}  # by task: when it met a transient condition

    @property
    def deadline(self) -> float | None:
        return min(self._due.values(), default=None)

    def request(self, task_id: str, restart: Restart) -> None:
        """The next end of this attempt is followed by a restart, whatever the policy says."""
        self._requested[task_id] = restart

    def is_requested(self, task_id: str) -> bool:
        return task_id in self._requested

    def grant(self, end: End, had_started: bool) -> Restart | None:
        """A restart after this end of a task, or None if it is the end of the run."""
        if self.is_requested(end.member.task_id):
            return self._requested.pop(end.member.task_id)
        if end.is_transient and not had_started:
            return self._wait_out(end)
        policy = self._policy_of(end)
        of_all = had_started and policy.after_start == "all"
        if end.is_hopeless or (had_started and not _is_worth_it(end, policy)):
            return None
        who = "" if of_all else end.member.task.name
        limit = policy.limit if had_started else policy.limit_before_start
        if self._spent[who] >= limit:
            return None
        if of_all:
            self._spent = Counter({"": self._spent[""]})  # everybody begins again
        self._spent[who] += 1
        return Restart(of_all, self._spent[who], limit, _pause(self._spent[who], had_started))

    def shown(self, end: End) -> End:
        """*end* with its reason as it is shown: that of a check of its node only once."""
        return end.replace(reason=self._checks.shown(end.code, end.reason))

    def _wait_out(self, end: End) -> Restart | None:
        """A condition that should pass by itself counts only if it persists."""
        met = self._passing.setdefault(end.member.task.name, [])
        if met and end.at - met[-1] > TRANSIENT_FOR:
            met.clear()  # that was a different condition
        met.append(end.at)
        if met[-1] - met[0] > TRANSIENT_FOR:
            return None
        pause = PASSING_PAUSES[min(len(met), len(PASSING_PAUSES)) - 1]
        return Restart(False, 0, self._policy.limit, pause)

    def _policy_of(self, end: End) -> RestartPolicy:
        """The policy of the run, with what the job overrides."""
        job = end.member.task.job
        return self._policy.changed(job.restarts, job.restart_policy, job.retry_codes)

    def schedule(self, member: Member, at: float) -> None:
        self._due[member] = at

    def due(self, now: float) -> list[Member]:
        """The tasks whose pause is over; each is returned once."""
        due = [member for member, at in self._due.items() if now >= at]
        for member in due:
            del self._due[member]
        return due

    def cancel(self) -> None:
        self._due.clear()


def _is_worth_it(end: End, policy: RestartPolicy) -> bool:
    if policy.after_start == "never" or end.member.runs_here:
        return False
    if end.member.task.is_auxiliary and end.code in NO_SUCH_PROGRAM:
        return False  # it is not installed there, and that will not change soon
    return end.is_lost or end.code in policy.codes


def _pause(number: int, had_started: bool) -> float:
    """Seconds before restart *number*; a first failure to start is often nobody's fault."""
    if number == 1 and not had_started:
        return 0.0
    doublings = number - 1 if had_started else number - 2
    return float(min(2**doublings, LONGEST_PAUSE))
