"""A run on Kubernetes, replayed from what its API says, with a clock of its own."""

import json
from pathlib import Path

from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.rules import Rules
from tfmesos.engines.kubernetes import events as kubernetes
from tfmesos.engines.kubernetes.actions import CreatePods, DeletePods
from tfmesos.engines.kubernetes.engine import KubernetesEngine
from tfmesos.engines.kubernetes.pod_status import PodSeen, read
from tfmesos.launcher.deciders import Deciders

RECORDINGS = Path(__file__).parent / "recordings"
CROWDED = "0/3 nodes are available: 3 Insufficient cpu."
GATED = "Scheduling is blocked due to non-empty scheduling gates"


def recorded(name):
    """Seconds and pods of a recorded watch; the pod is None when it is gone."""
    for line in (RECORDINGS / f"{name}.jsonl").read_text().splitlines():
        entry = json.loads(line)
        said = entry["said"]
        if said.get("type") in ("ADDED", "MODIFIED", "DELETED") and "status" in said["object"]:
            yield entry["at"], read(said["object"]), said["type"] == "DELETED"


class Run:
    """All that decides about a run, and short words for what can happen."""

    def __init__(self, *jobs, jitter=lambda: 0.5, hold=60.0, has_queue=False, **options):
        self.now = 0.0
        self.tasks = [task for job in jobs for task in job.tasks]
        self.state = Lifecycle(self.tasks, "run", self.now, Rules(nodes_alike=True, **options))
        images = [(job.name, "me/train") for job in jobs]
        self.engine = KubernetesEngine(jitter, hold, images, has_queue)
        self.deciders = Deciders(self.state, self.engine)
        self.log = []
        self(kubernetes.Connected("https://api:6443", "team"))

    def __call__(self, event):
        todo = self.deciders.handle(event, self.now)
        self.log += todo
        return todo

    def wait(self, seconds):
        """Let time pass, ticking whenever the state asks for it."""
        end, todo = self.now + seconds, []
        while (due := self.deciders.deadline) is not None and due <= end:
            self.now = max(self.now, due)
            todo += self(happened.Ticked())
        self.now = end
        return todo

    def id(self, name):
        return next(m.task_id for m in self.state.members if m.task.name == name)

    def pod(self, name, **fields):
        return self(kubernetes.PodChanged(PodSeen(name, **fields)))

    def scheduled(self, *names, node="node-1"):
        return [todo for name in names for todo in self.pod(name, node=node)]

    def crowded(self, *names):
        return [todo for name in names for todo in self.pod(name, unschedulable=CROWDED)]

    def gated(self, *names):
        """A queue holds them back."""
        return [todo for name in names for todo in self.pod(name, unschedulable=GATED)]

    def running(self, *names, **fields):
        return [
            todo
            for name in names
            for todo in self.pod(name, node="node-1", phase="Running", is_running=True, **fields)
        ]

    def gone(self, name):
        return self(kubernetes.PodGone(name))

    def register(self, *names):
        for number, name in enumerate(names or [task.name for task in self.tasks]):
            port = 4000 + number
            self(happened.TaskRegistered(self.id(name), f"10.0.0.{number}:{port}", port))

    def up(self):
        """All commands run."""
        pods = [name for todo in self.made() for name in todo]
        self.running(*pods)
        self.register()
        for task in self.tasks:
            self(happened.TaskReady(self.id(task.name)))
        return self

    def exit(self, name, code=0, reason=None):
        reason = reason or f"exited with {code}"
        return self(happened.TaskExited(self.id(name), code, reason, ("last words",)))

    def cut(self, name):
        """Its link breaks, as it does when all processes of its pod have ended."""
        return self(happened.RunnerOutOfTouch(self.id(name)))

    def made(self):
        """The names of the pods, for each time that some were made."""
        return [[p.name for p in todo.pods] for todo in self.log if isinstance(todo, CreatePods)]

    def deleted(self):
        return [name for todo in self.log if isinstance(todo, DeletePods) for name in todo.names]

    def said(self):
        return [todo.text for todo in self.log if isinstance(todo, do.Say)]

    @property
    def outcome(self):
        found = [todo.outcome for todo in self.log if isinstance(todo, do.Finish)]
        return found[0] if found else None

    def play(self, recording, pod):
        """What was recorded of one pod happens to *pod*, as fast as it did."""
        began = self.now
        for at, seen, is_gone in recorded(recording):
            self.wait(max(0.0, began + at - self.now))
            self(kubernetes.PodChanged(seen.replace(name=pod)))
            if is_gone:
                self.gone(pod)
        return self
