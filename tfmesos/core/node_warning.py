"""Warnings about the nodes of tasks that go on."""

from __future__ import annotations

from ..text import join_names, time_until
from .actions import Say
from .events import NodeLost, NodeWanted
from .tasks import Tasks


def node_warning(event: NodeLost | NodeWanted, members: Tasks) -> list[Say]:
    """Nothing if none of the tasks lives."""
    names = join_names(members.named(event.task_ids))
    if not names:
        return []
    if isinstance(event, NodeLost):
        return [Say(f"the cluster has lost the node of {names}", "warning")]
    text = f"the node of {names} is scheduled for maintenance {time_until(event.within)}"
    return [Say(text, "warning")]
