"""The rules for the life of a run: how long it waits, what it survives, and when it ends."""

from __future__ import annotations

from ..config.failure_settings import DEFAULT_EVALUATOR_GRACE, DEFAULT_GRACE
from ..config.job import Task
from ..config.restart_settings import USUAL_RESTARTS, RestartPolicy
from ..config.task_choice import TaskChoice
from ..record import Record


class Rules(Record):
    """All times are in seconds."""

    start_timeout: float | None = None
    run_timeout: float | None = None
    checkpoint_before: float | None = None  # that, and the tasks have this time
    success: TaskChoice | None = None  # who decides about it, if given
    restarts: RestartPolicy = USUAL_RESTARTS
    hang_timeout: float | None = None  # of silence
    hang_of_any: bool = False  # of any task, or of all
    evaluator_grace: float = DEFAULT_EVALUATOR_GRACE  # after all others have finished
    tensorboard_stays: bool = False  # when all others have ended
    stop_grace: float = DEFAULT_GRACE  # from the signal to SIGKILL, and for the finalizer
    elastic_hold: float = 10.0  # for which the last tasks of a range are waited for
    grow_every: float | None = None  # the time between two looks for room for more of them
    nodes_alike: bool = False
    has_finalizer: bool = False
    local: tuple[Task, str, str] | None = None  # a task beside us, its id and address


USUAL_RULES = Rules()
