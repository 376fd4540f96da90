"""A run on this machine, replayed from its events: for tests of what no engine decides."""

from tests.replay import Replay
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

    def gone(self, name, code=0, reason=None, **more):
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
