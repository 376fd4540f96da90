"""Stops all tasks, and notices when that takes too long."""

from __future__ import annotations

from collections.abc import Iterable

from ..config.failure_settings import DEFAULT_GRACE
from ..errors import Interrupted, Preempted
from ..text import join_names
from .actions import Action, Kill, Refuse, Say, StopPlacing, StopRunner
from .outcome import Ending, Outcome
from .phases import Phase
from .tasks import Member, Stage, Tasks

KILL_GRACE = DEFAULT_GRACE  # from SIGTERM to SIGKILL, and for the finalizer after that
HANG_REPORT = 4.0  # extra seconds when the tasks report what they are doing
STOP_MARGIN = 2.0  # seconds for a killed task to be reported, beyond its grace


class Stopping:
    def __init__(
        self,
        members: Tasks,
        now: float,
        has_finalizer: bool = False,
        grace: float = KILL_GRACE,
        stays: bool = False,
    ) -> None:
        """TensorBoard *stays* when all others have ended, until somebody ends it."""
        self._stays = stays
        self._members = members
        self._grace = self._usual_grace = grace
        self._has_finalizer = has_finalizer
        self._is_requested = self._is_interrupted = False
        self.is_cut = False  # was it requested twice, so that nothing is waited for?
        self._over_from = self._given_up_at = now
        self.outcome = Outcome()  # what the run ends with
        self._kept: list[Member] = []

    def choose_kept(self, outcome: Outcome) -> None:
        """Choose tasks that are ended later than the others: once, and not after a Ctrl-C."""
        stays = self._stays and not isinstance(outcome.error, Interrupted)
        begun = (Stage.STARTED, Stage.READY)
        auxiliary = [member for member in self._members.auxiliary if member.stage in begun]
        self._kept = auxiliary if stays else []

    def give_cause(self, ending: Ending) -> None:
        """The run ends because this task had to go."""
        if isinstance(self.outcome.error, Preempted):
            self.outcome = self.outcome.replace(cause=ending)

    def explain(self, why: str) -> None:
        """More is known about why the tasks had to go."""
        if isinstance(self.outcome.error, Preempted):
            self.outcome = self.outcome.replace(error=Preempted(why))

    @property
    def keeps_any(self) -> bool:
        return any(member.is_live for member in self._kept)

    @property
    def is_awaiting(self) -> bool:
        """Is a task still alive that has to end?"""
        if self._members.lingering:
            return True
        return self._members.live_count > sum(member.is_live for member in self._kept)

    @property
    def takes(self) -> float:
        """Seconds in which a runner that was asked to end has ended, and its end is known."""
        return self._grace * (2 if self._has_finalizer else 1) + STOP_MARGIN

    def say_staying(self) -> list[Action]:
        self._stays = False
        ready = [member for member in self._kept if member.stage is Stage.READY]
        where = join_names([f"http://{member.shown_at}" for member in ready])
        how = self.outcome.error or "the run has succeeded"
        board = f"TensorBoard stays at {where}" if ready else "TensorBoard is starting and stays"
        return [Say(f"{how}; {board} until Ctrl-C or tfrun stop", "notice")]

    def begin(
        self,
        reason: str,
        now: float,
        *,
        examine: bool = False,
        pause: float = 0.0,
        grace: float | None = None,
    ) -> list[Action]:
        """End all tasks, in no less than *pause* seconds; each has the usual *grace* if none is
        given.

        To *examine* them is to have them tell before what they are doing.
        """
        self._grace = self._usual_grace if grace is None else grace
        self._over_from = now + pause
        self._given_up_at = now + self.takes + (HANG_REPORT if examine else 0)
        todo: list[Action] = [StopPlacing(reason)] if self._members.waiting() else []
        for member in self._members:
            if member in self._kept:
                continue
            if member.has_runner:
                look = examine and member.task.job.cmd is not None
                todo.append(self.end_one(member, reason, look))
            elif member.is_live:
                todo.append(Kill(member.task_id))
        return todo

    def end_one(self, member: Member, reason: str, examine: bool = False) -> StopRunner:
        member.is_told_to_end = True
        return StopRunner(member.task_id, self._grace, reason, examine)

    def request(self, exit_code: int, grace: float | None = None) -> list[Action]:
        """Somebody requests the end of the run; without a code it is the owner's orderly stop."""
        self.is_cut = self._is_requested and exit_code != 0
        self._is_requested = True
        self._is_interrupted = self._is_interrupted or exit_code != 0
        if grace is not None:
            self._grace = self._usual_grace = grace
        who = self.summary()
        more = "; Ctrl-C again to kill" if exit_code == Interrupted.exit_code else ""
        return [Say(f"{who}{more}", "notice")] if exit_code and who else []

    def summary(self) -> str:
        """Who is still being stopped, in words; empty if nobody is."""
        live = [member.task.name for member in self._members if member.is_live]
        return f"stopping {join_names(live)}" if live else ""

    def wait_for_output(self, now: float, is_bringing: bool = False) -> None:
        """The commands have ended by then; their last lines and their end come when taken.

        A first Ctrl-C does not cut files that are being collected; a second one does.
        """
        if now >= self._given_up_at and (is_bringing or not self._is_interrupted):
            self._given_up_at = now + STOP_MARGIN

    def give_up(self) -> list[Action]:
        """Kill the tasks that are still alive, and ignore their reports."""
        live = [member.task_id for member in self._members if member.is_live]
        return [action(task_id) for task_id in live for action in (Refuse, Kill)]

    @property
    def over_at(self) -> float:
        """The latest time at which it is over: tasks alive then are no longer waited for."""
        return max(self._over_from, self._given_up_at) if self.is_awaiting else self._over_from

    def deadline_in(self, phase: Phase) -> float | None:
        return self.over_at if phase in (Phase.STOPPING, Phase.RESTARTING) else None

    def is_over(self, now: float) -> bool:
        return now >= self.over_at

    def ended(self, times: tuple[tuple[str, float], ...], restarted: Iterable[Ending]) -> Outcome:
        """The outcome with all that is known at the end."""
        cause = self.outcome.cause
        return self.outcome.replace(
            others=self._members.failures_besides(cause),
            unstopped=tuple(m.task.name for m in self._members if m.is_live),
            times=times,
            restarted=tuple(restarted),
        )
