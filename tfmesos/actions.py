"""What a run wants done (imperative); the shell carries it out and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .errors import TFMesosError
from .offers import Seat
from .record import Record
from .spec import Task

ClusterSpec = Mapping[str, Sequence[str]]


class Launch(Record):
    """Accept these offers of one agent and start these tasks there."""

    agent_id: str
    hostname: str
    offer_ids: tuple[str, ...]
    seats: tuple[tuple[str, Seat], ...]  # task id and its seat


class Decline(Record):
    offer_ids: tuple[str, ...]
    refuse_seconds: float
    reason: str


class DeclineInverse(Record):
    """Tell the operator that we do not leave."""

    offer_ids: tuple[str, ...]
    refuse_seconds: float


class Suppress(Record):
    """Ask for no more offers."""


class Revive(Record):
    """Ask for offers again, also for those declined before."""


class CountAgents(Record):
    """Ask the master which agents there are."""


class Kill(Record):
    """Have Mesos kill a task, whatever its runner does."""

    task_id: str
    agent_id: str


class Reconcile(Record):
    """Ask the master what became of these tasks: pairs of task id and agent id."""

    tasks: tuple[tuple[str, str], ...]


class Prepare(Record):
    """Have the runner of a bare server import TensorFlow while the others register."""

    task_id: str
    task: Task


class Start(Record):
    """Everybody is in: tell the runners who the others are and let them begin."""

    tasks: tuple[tuple[str, Task], ...]
    cluster: ClusterSpec


class StopRunner(Record):
    """Have the runner end its command: SIGTERM, and after *grace* seconds SIGKILL.

    To *examine* it is to have it tell before what it is doing.
    """

    task_id: str
    grace: float
    reason: str
    examine: bool = False


class AnnounceReady(Record):
    """Every command runs, every server listens."""

    cluster: ClusterSpec


class Say(Record):
    text: str
    level: str = "info"  # or "debug", "notice", "warning"


class Ending(Record):
    """How one task ended, for the report."""

    task: Task
    hostname: str
    code: int
    reason: str
    tail: tuple[str, ...]
    at: float
    task_id: str
    agent_url: str = ""
    sandbox: str = ""  # where to look at it
    was_stopped: bool = False  # by us
    is_reported: bool = False  # by its runner, with all that it said last


class Outcome(Record):
    """How a run ended: well, or by ``error``; ``cause`` is the task that failed first."""

    error: TFMesosError | None = None
    cause: Ending | None = None
    others: tuple[Ending, ...] = ()  # those that failed after the cause
    unstopped: tuple[str, ...] = ()  # tasks that had not ended when we stopped waiting
    times: tuple[tuple[str, float], ...] = ()  # what took how many seconds, in order
    restarted: tuple[Ending, ...] = ()  # ends that were followed by a restart

    @property
    def ok(self) -> bool:
        return self.error is None

    @property
    def exit_code(self) -> int:
        return 0 if self.error is None else self.error.exit_code


class Finish(Record):
    outcome: Outcome


Action = (
    Launch
    | Decline
    | DeclineInverse
    | Suppress
    | Revive
    | CountAgents
    | Kill
    | Reconcile
    | Prepare
    | Start
    | StopRunner
    | AnnounceReady
    | Say
    | Finish
)
