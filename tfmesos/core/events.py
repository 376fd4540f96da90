"""Events of a run (past tense), reported by its engine, its runners and its user."""

from __future__ import annotations

from ..config.job import Job
from ..errors import DRAINED, TFMesosError
from ..record import Record


class Event(Record):
    """Goes to the lifecycle."""


# From the engine


class EngineReady(Event):
    """The engine is ready to place tasks; sent again each time the engine is back."""


class EngineTrouble(Event):
    """It is not ready yet, for this reason; it goes on trying."""

    text: str


class EngineGaveUp(Event):
    """The engine gives up and will not place any more tasks."""

    error: TFMesosError


class Placed(Record):
    """The place that a task was given."""

    task_id: str
    node: str  # the engine's name for it
    hostname: str


class TasksPlaced(Event):
    """These tasks have places and are being started there."""

    places: tuple[Placed, ...]


class TasksNotPlaced(Event):
    """The places of these tasks were refused after all."""

    task_ids: tuple[str, ...]


class TasksLeftOut(Event):
    """There are no places for these optional tasks: the others begin without them."""

    task_ids: tuple[str, ...]
    reason: str


class Waiting(Event):
    """There is not a place for every task; how many could have one now."""

    placed: int
    reason: str


class Impossible(Event):
    """There will never be places for all tasks."""

    reason: str


class RoomSeen(Event):
    """There is room now for this many of the tasks in question."""

    tasks: int


class TaskSeen(Event):
    """The engine has the task, and it has not ended."""

    task_id: str


class TaskUnreachable(Event):
    """The engine has lost sight of the task, which may be well."""

    task_id: str


class TaskEnded(Event):
    """The engine says how a task ended; its runner may know more."""

    task_id: str
    code: int
    reason: str  # the rest of a sentence about the task
    is_lost: bool = False  # is it the fault of its node, whatever its command did?
    was_killed: bool = False  # because we asked for it, most likely
    is_transient: bool = False  # its node will be able to take it in a moment
    is_hopeless: bool = False  # another attempt would end the same


class NodeDrained(Event):
    """The operator is emptying the node of this task, or has it ended for another *reason*."""

    task_id: str
    reason: str = DRAINED  # the rest of a sentence about the task
    is_lost: bool = True  # is it the fault of its node, whatever its command did?
    is_notice: bool = False  # does the task still run, with some time to end?


class NodeLost(Event):
    """The engine has lost the node of these tasks."""

    task_ids: tuple[str, ...]


class NodeWanted(Event):
    """Its operator wants the node of these tasks back, in this many seconds."""

    task_ids: tuple[str, ...]
    within: float


# From the runners


class TaskRegistered(Event):
    """A runner proved the secret and says at which address its task will listen."""

    task_id: str
    address: str  # host:port
    port: int
    directory: str = ""  # of the task, if it is not the one that its engine gave it
    node: str = ""  # what its engine calls it, if the runner knows
    shown_at: str = ""  # host:port where people find it, if that is another one


class TaskReady(Event):
    """The command runs, or the TensorFlow server listens."""

    task_id: str


class TaskFellSilent(Event):
    """A command has written nothing for this many seconds; 0: it has begun to write again."""

    task_id: str
    seconds: float


class TaskExited(Event):
    """The runner reports how its command ended, after the last line of its output."""

    task_id: str
    code: int  # as a shell counts: 137 for SIGKILL
    reason: str  # "exited with 3", "was killed by SIGKILL", "failed: its initializer exited with 1"
    tail: tuple[str, ...] = ()  # the last lines of its output
    was_stopped: bool = False  # by us, before it ended
    node: str = ""  # what its engine calls it, if the runner knows


class TaskHeld(Event):
    """A command failed. Its task is held, so that its owner can look at what is left of it."""

    task_id: str
    reason: str  # how it ended: the rest of a sentence about the task


class RunnerOutOfTouch(Event):
    """The runner's connection ended; it may come back within the grace time."""

    task_id: str


class RunnerBack(Event):
    """A runner that was out of touch is connected again."""

    task_id: str


class RunnerLost(Event):
    """The runner's connection ended, and it did not come back within the grace time."""

    task_id: str
    reason: str


# From the user and the clock


class StopRequested(Event):
    reason: str
    exit_code: int
    grace: float | None = None  # seconds that each task has to end, if given


class TakenOver(Event):
    """Another launcher continues the run. No clock ran for this many seconds before."""

    away: float


class RestartRequested(Event):
    """Its owner wants this task to be ended and started again, at its place or elsewhere."""

    task_id: str
    elsewhere: bool


class NoticeGiven(Event):
    """Tasks are soon ended from outside, or their owner wants it: all are to write a checkpoint.

    They are stopped with their grace, together. Then the next generation begins, if the restart
    policy is ``all``, or the run ends.
    """

    reason: str  # a sentence
    is_time_limit: bool = False  # the run ends with the code of a time limit, if it ends
    may_go_on: bool = True  # can there be a next generation?
    grace: float | None = None  # seconds that they have, if not as usual


class UpdateRequested(Event):
    """The owner wants the run to continue with these jobs."""

    jobs: tuple[Job, ...]
    difference: tuple[str, ...]  # from those that it has, in words
    is_rolling: bool = False  # one task after the other


class ContinueRequested(Event):
    """The owner of the run releases the tasks that are held."""


class Ticked(Record):
    """A deadline has come; every decider gets this."""

    is_output_held: bool = False  # do tasks wait for us to take their output?
    is_bringing: bool = False  # are files of theirs being collected?
