"""The cluster of a run: which tasks have joined it, and which have the addresses of the others."""

from __future__ import annotations

from .actions import Action, AnnounceReady, ClusterSpec, Prepare, Say, Start
from .events import TaskRegistered
from .tasks import Member, Stage, Tasks


class Cluster:
    def __init__(self, members: Tasks) -> None:
        self._members = members
        self.spec: ClusterSpec = {}
        self.is_ready = False  # does every command run, and every server listen?

    def register(self, member: Member, event: TaskRegistered) -> list[Action]:
        self._members.move(member, Stage.REGISTERED)
        member.address = event.address
        member.port = event.port
        member.shown_at = event.shown_at or event.address
        is_server = member.task.job.cmd is None
        return [Prepare(member.task_id, member.task)] if is_server else []

    @property
    def is_complete(self) -> bool:
        return self._members.is_complete

    def start(self) -> list[Action]:
        """Every task receives the addresses of all."""
        self.spec = self._members.cluster()
        self.is_ready = False
        registered = [member for member in self._members if member.stage is Stage.REGISTERED]
        for member in registered:
            self._members.move(member, Stage.STARTED)
            member.previous_address = member.address
        return [Start(tuple((m.task_id, m.task) for m in registered), self.spec)]

    def rejoin(self, member: Member) -> list[Action]:
        """One task joins the others, who have gone on without it."""
        self._members.move(member, Stage.STARTED)
        self.spec = self._members.cluster()
        text = f"{member.task.name} is back on {member.hostname}"
        if member.previous_address not in ("", member.address):
            text += f", at {member.address}; the others expect it at {member.previous_address}"
        start = Start(((member.task_id, member.task),), self.spec)
        return [Say(text, "warning"), start]

    def ready(self, member: Member, now: float) -> list[Action]:
        """Its command runs; is it the last one?"""
        self._members.move(member, Stage.READY)
        member.ready_at = now
        if self.is_ready or not self._members.all_at_least(Stage.READY):
            return []
        self.is_ready = True
        auxiliary = {other.task.type for other in self._members.auxiliary}
        spec = {name: at for name, at in self.spec.items() if name not in auxiliary}
        return [AnnounceReady(spec)]
