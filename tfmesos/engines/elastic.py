"""As many tasks as there is room for, of a job that asks for a range."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..core.actions import Wanted


def most(
    wanted: Sequence[Wanted], fits: Callable[[Sequence[Wanted]], bool]
) -> tuple[Wanted, ...] | None:
    """All that are needed and as many optional ones as fit; None if those that are needed do not.

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


def rest(wanted: Sequence[Wanted], kept: Sequence[Wanted]) -> tuple[str, ...]:
    """The ids of those that are not kept."""
    ids = {one.task_id for one in kept}
    return tuple(one.task_id for one in wanted if one.task_id not in ids)
