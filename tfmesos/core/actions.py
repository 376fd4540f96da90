"""Actions of a run (imperative). A ``Request`` goes to its engine, the rest to the shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..config.job import Job, Task
from ..record import NOTHING, Record
from .outcome import Outcome

ClusterSpec = Mapping[str, Sequence[str]]


class Request(Record):
    """Goes to the engine."""


class PreviousPlace(Record):
    """Where a task was before: the others still look for it there."""

    node: str
    port: int
    until: float  # the time from which any other place will do


class Wanted(Record):
    """A task that needs a place."""

    task_id: str
    task: Task
    previous_place: PreviousPlace | None = None
    is_optional: bool = False  # the others begin without it, if there is no place for it

    @property
    def previous_port(self) -> int | None:
        return self.previous_place.port if self.previous_place else None


class Place(Request):
    """Find places for all of these tasks, and start them. Replaces the last such request."""

    tasks: tuple[Wanted, ...]
    avoid: Mapping[str, float] = NOTHING  # nodes to avoid, and until when
    others_run: bool = False  # do the other tasks continue meanwhile? Then they keep their places
    hold: float = 0.0  # seconds for which places for optional ones are waited for, too


class Anticipate(Request):
    """This will be asked for when all tasks that run have ended: an engine may queue for it now.

    Nothing of it starts before. If anything else is asked for instead, it is not needed.
    """

    place: Place


class StopPlacing(Request):
    """No task needs a place."""

    reason: str


class LookForRoom(Request):
    """Look for how many of these, the tasks of the next generation, there is room now.

    The room of those that run counts. An engine that cannot know does not answer.
    """

    tasks: tuple[Task, ...]


class Kill(Request):
    """Have the engine end a task, whatever its runner does."""

    task_id: str


class Prepare(Record):
    """Have the runner of a bare server import TensorFlow while the others register."""

    task_id: str
    task: Task


class Start(Record):
    """All tasks have registered: send the cluster spec to the runners and let them begin."""

    tasks: tuple[tuple[str, Task], ...]
    cluster: ClusterSpec


class StopRunner(Record):
    """Have the runner end its command: SIGTERM, and after *grace* seconds SIGKILL.

    With *examine*, the runner first reports what the command is doing.
    """

    task_id: str
    grace: float
    reason: str
    examine: bool = False


class ContinueRunner(Record):
    """Let a task end whose command has failed and which is held."""

    task_id: str


class Refuse(Record):
    """An attempt at a task was given up: ignore its runner, if that is still alive."""

    task_id: str


class Mark(Record):
    """Is noted in the record of the run, for those who read that."""


class BeginGeneration(Mark):
    """The tasks of the last generation have ended, and these jobs are started now."""

    number: int
    jobs: tuple[Job, ...]
    why: str
    is_restart: bool = False  # after a failure: it counts as a restart of each task


class BeginRolling(Mark):
    """Tasks are changed one after the other, in this generation."""

    jobs: tuple[Job, ...]  # what they are changed to
    why: str
    tasks: tuple[str, ...]  # the names of those that are changed


class EndRolling(Mark):
    """The run has these jobs now; there is a problem if not all tasks were changed."""

    jobs: tuple[Job, ...]
    problem: str = ""


class AnnounceReady(Record):
    """Every command runs, every server listens."""

    cluster: ClusterSpec


class Say(Record):
    text: str
    level: str = "info"  # or "debug", "notice", "warning"


class Finish(Record):
    outcome: Outcome


Action = (
    Request
    | Prepare
    | Start
    | StopRunner
    | ContinueRunner
    | Refuse
    | Mark
    | AnnounceReady
    | Say
    | Finish
)
