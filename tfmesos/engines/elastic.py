"""Chooses as many tasks as there is room for, for a job that asks for a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from ..config.job import Task
from ..core.actions import Wanted


class _Optional(Protocol):
    @property
    def is_optional(self) -> bool: ...


One = TypeVar("One", bound=_Optional)


def most(wanted: Sequence[One], fits: Callable[[Sequence[One]], bool]) -> tuple[One, ...] | None:
    """The required tasks and as many optional ones as fit; None if the required ones do not fit.

    Not all of them fit, as is known.
    """
    needed = [one for one in wanted if not one.is_optional]
    optional = [one for one in wanted if one.is_optional]
    if not optional or not fits(needed):
        return None
    enough, too_many = 0, len(optional)
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if fits([*needed, *optional[:middle]]):
            enough = middle
        else:
            too_many = middle
    return (*needed, *optional[:enough])


def room_for(tasks: Sequence[Task], fits: Callable[[Sequence[Task]], bool]) -> int:
    """How many tasks of a generation could begin; 0 if there is no room for those needed."""
    return len(tasks) if fits(tasks) else len(most(tasks, fits) or ())


def rest(wanted: Sequence[Wanted], kept: Sequence[Wanted]) -> tuple[str, ...]:
    """The ids of those that are not kept."""
    ids = {one.task_id for one in kept}
    return tuple(one.task_id for one in wanted if one.task_id not in ids)
