"""A run in the words of the core alone: no engine, only places, tasks and times."""

from tests.builders import workers
from tests.replay import only
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.rules import Rules
from tfmesos.core.tasks import Stage

FIRST, SECOND = "run-worker-0-1", "run-worker-1-1"


class Life:
    """A run whose places are given by hand."""

    def __init__(self, *jobs, **options):
        self.tasks = [task for job in jobs or [workers(2)] for task in job.tasks]
        self.state = Lifecycle(self.tasks, "run", 0.0, Rules(**options))
        self.now, self.outcome = 0.0, None

    def __call__(self, event, now=None):
        self.now = self.now if now is None else now
        todo = list(self.state.handle(event, self.now))
        for finish in only(do.Finish, todo):
            self.outcome = finish.outcome
        return todo

    def ids(self):
        return [member.task_id for member in self.state.members]

    def place(self):
        waiting = [m.task_id for m in self.state.members if m.stage is Stage.WAITING]
        placed = [happened.Placed(id, f"n-{id}", f"host-{id}") for id in waiting]
        return self(happened.TasksPlaced(tuple(placed)))

    def register(self):
        for number, id in enumerate(self.ids()):
            todo = self(happened.TaskRegistered(id, f"h:{number}", number))
        return todo

    def up(self):
        self(happened.EngineReady(), 1.0)
        self.now = 2.0
        self.place()
        self.register()
        self.now = 3.0
        for id in self.ids():
            self(happened.TaskReady(id))
        return self


def said(todo):
    return [(say.text, say.level) for say in only(do.Say, todo)]


def exited(task_id, code, reason="failed", **more):
    return happened.TaskExited(task_id, code, reason, ("last",), **more)
