"""A run replayed from its events, with a clock of its own."""

from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.rules import Rules
from tfmesos.launcher.deciders import Deciders


class Replay:
    """All that decides about a run, a clock, and short words for what can happen on any engine."""

    def __init__(self, engine, *jobs, **options):
        self.now = 0.0
        self.tasks = [task for job in jobs for task in job.tasks]
        self.state = Lifecycle(self.tasks, "run", self.now, Rules(**options))
        self.deciders = Deciders(self.state, engine)
        self.log = []

    def __call__(self, event):
        todo = self.deciders.handle(event, self.now)
        self.log += todo
        return todo

    def id(self, name):
        return next(m.task_id for m in self.state.members if m.task.name == name)

    def wait(self, seconds):
        """Let time pass, ticking whenever the state asks for it."""
        end, todo = self.now + seconds, []
        while (due := self.deciders.deadline) is not None and due <= end:
            self.now = max(self.now, due)
            todo += self(happened.Ticked())
        self.now = end
        return todo

    def register(self, *names):
        return [
            action
            for n, name in enumerate(names or [task.name for task in self.tasks])
            for action in self(
                happened.TaskRegistered(self.id(name), f"10.0.0.1:{4000 + n}", 4000 + n)
            )
        ]

    def ready(self, *names):
        return [
            action
            for name in names or [task.name for task in self.tasks]
            for action in self(happened.TaskReady(self.id(name)))
        ]

    def exit(self, name, code=0, reason=None):
        reason = reason or f"exited with {code}"
        return self(happened.TaskExited(self.id(name), code, reason, ("last words",)))

    @property
    def outcome(self):
        found = [action.outcome for action in self.log if isinstance(action, do.Finish)]
        assert len(found) <= 1
        return found[0] if found else None


def only(kind, todo):
    return [action for action in todo if isinstance(action, kind)]
