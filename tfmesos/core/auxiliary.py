"""Messages about TensorBoard, which never affects the outcome of the run."""

from __future__ import annotations

from .actions import Action, Say
from .endings import NO_SUCH_PROGRAM, End
from .tasks import Member


def announce(member: Member) -> list[Action]:
    """The task answers. Returns nothing for tasks that are not auxiliary."""
    where = f"TensorBoard is at http://{member.shown_at}"
    return [Say(where, "notice")] if member.task.is_auxiliary else []


def give_up(end: End, had_started: bool) -> Say:
    words = f"{end.with_last_line(had_started)}; going on without it"
    is_missing = end.code in NO_SUCH_PROGRAM
    return Say(f"{words} (pip install tensorboard there)" if is_missing else words, "warning")
