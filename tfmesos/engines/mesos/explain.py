"""Explains what a run is waiting for while not every task has a place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...config.constraints import Node
from ...config.job import Resources, Task
from ...text import agreeing, count, join_names, shortened
from .feasibility import Holder, KnownAgent
from .placement import Placement
from .quotas import Quota, exceeded
from .spread import Wish, obstacle

_UNITS = {"mem": "MiB of memory", "disk": "MiB of disk"}
_MOST = 3  # reasons in one line
GIVEN_BACK = "offers that were enough for all tasks were returned; waiting for new ones"


def explain(
    waiting: Sequence[Task],
    placement: Placement | None,  # as far as the last offers went; None if there are none
    largest: tuple[Resources, str] | None,  # offer seen so far, and its host
    nodes: Sequence[Node],  # whose offers were seen
    agents: Sequence[KnownAgent],  # of the master, if it tells
    holders: Sequence[Holder],  # of their resources, likewise
    quotas: Sequence[Quota],  # that limit our role, likewise
) -> tuple[int, str]:
    """How many of *waiting* have a place, and what the others lack."""
    loads = placement.loads if placement else ()
    seated = {seat.task.name for load in loads for seat in load.seats}
    unplaced = [task for task in waiting if task.name not in seated]
    if not unplaced:
        return 0, GIVEN_BACK  # tasks that did not fit were left out since
    obstacles = {**_unmet(unplaced, nodes), **(placement.obstacles if placement else {})}
    short = [task for task in unplaced if task.job.name not in obstacles]
    reasons = [*list(obstacles.values())[:_MOST], *_shortage(short, placement, largest, agents)]
    if short:
        reasons += exceeded(quotas, Resources.sum(task.job.needs for task in waiting))
    if short and holders:
        reasons.append(f"held by {join_names([*map(_held, holders)], _MOST)}")
    return len(waiting) - len(unplaced), "; ".join(reasons)


def _unmet(tasks: Iterable[Task], nodes: Sequence[Node]) -> dict[str, str]:
    """Constraints that no agent meets that made an offer; such offers are not kept."""
    found = {}
    for task in _one_of_each_job(tasks):
        fixed = [constraint for constraint in task.job.constraints if constraint.is_fixed]
        wish = Wish(fixed, 1)
        if fixed and (reason := obstacle(wish, nodes, [1] * len(nodes), agent="agent on offer")):
            found[task.job.name] = f"{task.name}: {reason}"
    return found


def _shortage(
    tasks: Sequence[Task],
    placement: Placement | None,
    largest: tuple[Resources, str] | None,
    agents: Sequence[KnownAgent],
) -> Iterator[str]:
    if not tasks:
        return
    first = tasks[0]
    port = f", port {first.job.wanted_port}" if first.job.insists_on_port else ""
    yield f"{first.name} needs {first.job.needs}{port}"
    if largest is None:
        yield "no offer has been big enough so far" + _when_free(first.job.needs, agents)
        return
    size, hostname = largest
    if placement:
        needs = Resources.sum(task.job.needs for task in tasks)
        yield _missing(needs, placement.free) or _no_place(placement)
    else:
        yield _missing(first.job.needs, size) or "nothing that big is on offer now"
    yield f"largest offer seen: {size.shown(first.job.needs)} on {hostname}"


def _no_place(placement: Placement) -> str:
    if placement.without_port:
        return f"no port is left on {join_names(placement.without_port, _MOST)}"
    return "no single agent has that much left"


def _when_free(needs: Resources, agents: Sequence[KnownAgent]) -> str:
    able = sum(agent.total.times(needs) > 0 for agent in agents)
    if not able:
        return ""
    have = agreeing(able, "has", "have")
    return f", though {able} of {count(len(agents), 'agent')} {have} that much: others use it now"


def _held(holder: Holder) -> str:
    whose = f"{shortened(holder.name, 40)!r} of {holder.user or 'somebody'}"
    return f"{whose} ({holder.holds}, for {_duration(holder.seconds)})"


def _duration(seconds: float) -> str:
    for unit, name in ((86400, "days"), (3600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:.0f} {name}"
    return f"{seconds:.0f} s"


def _missing(needs: Resources, there: Resources) -> str:
    lacking = [
        _amount(name, (need - have) / 1000)
        for (name, need), have in zip(needs.named(), there, strict=True)
        if need > have
    ]
    return f"missing {', '.join(lacking)}" if lacking else ""


def _amount(name: str, amount: float) -> str:
    unit = _UNITS.get(name) or (name.removesuffix("s") if amount == 1 else name)
    return f"{amount:.10g} {unit}"


def _one_of_each_job(tasks: Iterable[Task]) -> list[Task]:
    return list({task.job.name: task for task in reversed(list(tasks))}.values())[::-1]
