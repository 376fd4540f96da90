"""The wait for tasks to be placed and to report: what it is for, and when it has been too long."""

from __future__ import annotations

from .actions import Action
from .errors import MasterError, ResourcesError, StartTimeout, TFMesosError
from .gang import Gang
from .inquiry import Inquiry
from .notices import Notices
from .roster import Roster, Stage
from .words import some


class Gathering:
    def __init__(self, members: Roster, gang: Gang, timeout: float | None, now: float) -> None:
        self._members, self._gang, self._timeout = members, gang, timeout
        self.is_subscribed = False
        self.trouble = "waiting for the master"  # or why there is none yet
        self.inquiry = Inquiry()
        self.begin(now)

    def begin(self, now: float) -> None:
        """Somebody has to be waited for, from now on."""
        self._notices = Notices(now)
        self._end_at = None if self._timeout is None else now + self._timeout

    @property
    def deadline(self) -> float | None:
        times = (self._end_at, self._notices.deadline, self.inquiry.deadline)
        return min(time for time in times if time is not None)

    def is_over(self, now: float) -> bool:
        return self._end_at is not None and now >= self._end_at

    def tick(self, now: float) -> list[Action]:
        return [*self._notices.say_if_due(self.words, now), *self.inquiry.ask_if_due(now)]

    def error(self) -> TFMesosError:
        """What a wait that is over has failed of."""
        awaited = f"not started after {self._timeout:g} s: {self.words()}"
        if not self.is_subscribed:
            return MasterError(awaited)
        return ResourcesError(awaited) if self._members.waiting() else StartTimeout(awaited)

    def words(self) -> str:
        """What is waited for just now."""
        if not self.is_subscribed:
            return self.trouble
        if waiting := [member.task for member in self._members.waiting()]:
            return self._gang.explain(waiting, len(self._members))
        if resting := [m.task.name for m in self._members if m.stage is Stage.RESTING]:
            return f"waiting a moment before {some(resting)} is launched again"
        launched = [m for m in self._members if m.stage is Stage.LAUNCHED]
        missing = [f"{m.task.name} on {m.hostname}" for m in launched]
        return f"waiting for {some(missing)} to report to the launcher"
