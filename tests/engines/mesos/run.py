"""A run on Mesos, replayed from its events."""

from tests.replay import Replay
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.engine import MesosEngine

from .offers import an_offer


class Run(Replay):
    def __init__(self, *jobs, jitter=lambda: 0.5, engine_rules=None, **options):
        super().__init__(MesosEngine(jitter, **(engine_rules or {})), *jobs, **options)

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
