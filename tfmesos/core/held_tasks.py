"""Tasks whose command has failed and which are held for the owner of the run."""

from __future__ import annotations

from . import actions as do
from .actions import Action
from .tasks import Tasks

WAY_OUT = "tfrun exec and cp can look inside until tfrun continue or tfrun stop"


def hold(members: Tasks, task_id: str, reason: str) -> list[Action]:
    """A task says that it is held; *reason* is how its command ended."""
    member = members.live(task_id)
    if member is None:
        return []
    member.is_held = True
    words = f"{member.task.name} on {member.hostname} {reason}; it is held: {WAY_OUT}"
    return [do.Say(words, "warning")]


def let_go(members: Tasks) -> list[Action]:
    held = members.held()
    for member in held:
        member.is_held = False
    return [do.ContinueRunner(member.task_id) for member in held]
