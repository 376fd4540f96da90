"""A run on this machine, replayed from its events: for tests of what no engine decides."""

from tests.replay import Replay, only
from tfmesos.engines.local import actions as calls
from tfmesos.engines.local import events as local
from tfmesos.engines.local.engine import LocalEngine

HOST = "here"


class Run(Replay):
    def __init__(self, *jobs, **options):
        super().__init__(LocalEngine(), *jobs, **options)

    def place(self):
        """Tell of the machine, and start all tasks there at once."""
        return self(local.MachineFound(HOST))

    def seen(self, *names):
        """Their runners have been started."""
        return [
            action
            for name in names or [task.name for task in self.tasks]
            for action in self(local.TaskStarted(self.id(name)))
        ]

    def gone(self, name, code=1, reason=None, **more):
        """Nothing of the task is left."""
        reason = reason or f"exited with {code}"
        return self(local.TaskGone(self.id(name), code, reason, **more))

    def up(self):
        """Bring everything to the point where all commands run."""
        self.place()
        self.seen()
        self.register()
        self.ready()
        return self

    def back(self, *names):
        """The commands of tasks that were started again run."""
        self.register(*names)
        self.ready(*names)


def started(todo):
    """The ids of the attempts that are started."""
    return [seat.task_id for start in only(calls.StartTasks, todo) for seat in start.seats]


def ended(todo):
    """The ids of the attempts that are ended, whatever their runners do."""
    return [end.task_id for end in only(calls.EndTask, todo)]
