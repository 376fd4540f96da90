"""A run replayed from its events, with a clock of its own."""

from tests.builders import an_offer
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.rules import Rules
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.engine import MesosEngine
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


class Run(Replay):
    """A run on Mesos."""

    def __init__(self, *jobs, jitter=lambda: 0.5, **options):
        super().__init__(MesosEngine(jitter), *jobs, **options)

    def subscribe(self):
        return self(mesos.Subscribed("f-1", "m:5050"))

    def offer(self, *offers):
        return self(mesos.OffersReceived(offers or (an_offer(cpus=64, mem=1e6),)))

    def update(self, name, state, message="", reason=""):
        return self(mesos.TaskUpdated(self.id(name), state, message, reason))

    def up(self):
        """Bring everything to the point where all commands run."""
        self.subscribe()
        self.offer()
        for task in self.tasks:
            self.update(task.name, "TASK_RUNNING")
        self.register()
        self.ready()
        return self


def only(kind, todo):
    return [action for action in todo if isinstance(action, kind)]
