"""Which nodes the tasks of one job take, so that the job's constraints hold.

It deals in numbers only: a node has room for a number of tasks of this job. Every task costs a few
steps, whatever the number of nodes, so ten thousand of each pose no problem.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from ...config.constraints import Constraint, Node
from ...record import Record
from ...text import join_names

_SHOWN = 5  # values named in a message


class Wish(Record):
    """Tasks of one job that need a place."""

    constraints: Sequence[Constraint]
    wanted: int
    fellows: Sequence[Node] = ()  # where others of the job are already
    absent: int = 0  # others of the job that have no place and do not need one now

    @property
    def tasks(self) -> int:
        """The whole job."""
        return self.wanted + len(self.fellows) + self.absent


def admitted(constraints: Iterable[Constraint], nodes: Iterable[Node]) -> list[bool]:
    """Which of *nodes* a task may be on, judged by each node alone."""
    constraints = list(constraints)
    return [all(constraint.admits(node) for constraint in constraints) for node in nodes]


def choose(wish: Wish, nodes: Sequence[Node], rooms: Sequence[int]) -> list[int]:
    """A node (by its index) for each of the wanted tasks, or for as many as possible.

    Nodes are used in order. If all tasks must share a value, the one with the least sufficient room
    is chosen.
    """
    allowed = admitted(wish.constraints, nodes)
    usable = [i for i, room in enumerate(rooms) if room > 0 and allowed[i]]
    best: list[int] = []
    for group in _groups_to_try(wish, nodes, rooms, usable):
        found = _fill(wish, nodes, rooms, group)
        best = max(best, found, key=len)
        if len(best) >= wish.wanted:
            break
    return best


def _groups_to_try(
    wish: Wish, nodes: Sequence[Node], rooms: Sequence[int], usable: list[int]
) -> Iterable[list[int]]:
    """The nodes that may be used together, the most promising ones first."""
    fields = [c.field for c in wish.constraints if c.chooses_value]
    if not fields:
        return [usable]
    groups: dict[tuple[str | None, ...], list[int]] = {}
    for i in usable:
        groups.setdefault(_values(nodes[i], fields), []).append(i)
    if wish.fellows:
        return [groups.get(_values(wish.fellows[0], fields), [])]

    def fit(group: list[int]) -> tuple[bool, int]:
        room = sum(rooms[i] for i in group)
        return (False, room) if room >= wish.wanted else (True, -room)

    return sorted(groups.values(), key=fit)


def _values(node: Node, fields: Iterable[str]) -> tuple[str | None, ...]:
    return tuple(node.value(name) for name in fields)


class _Limit:
    """At most this many tasks of the job on each value of a field."""

    def __init__(self, constraint: Constraint, most: int, fellows: Iterable[Node]) -> None:
        self._field = constraint.field
        self._most = most
        self._counts = Counter(node.value(self._field) for node in fellows)

    def allows(self, node: Node) -> bool:
        return self._counts[node.value(self._field)] < self._most

    def count(self, node: Node) -> None:
        self._counts[node.value(self._field)] += 1


def _limits(wish: Wish) -> list[_Limit]:
    limits = ((c, c.limit(wish.tasks)) for c in wish.constraints)
    return [_Limit(c, most, wish.fellows) for c, most in limits if most is not None]


def _fill(
    wish: Wish, nodes: Sequence[Node], rooms: Sequence[int], group: Sequence[int]
) -> list[int]:
    left = {i: rooms[i] for i in group}
    limits = _limits(wish)

    def takes_more(i: int) -> bool:
        return left[i] > 0 and all(limit.allows(nodes[i]) for limit in limits)

    fields = [c.field for c in wish.constraints if c.operator == "GROUP_BY"]
    source = _source(group, fields, nodes, wish.fellows, takes_more)
    found: list[int] = []
    while len(found) < wish.wanted and (i := source.pick()) is not None:
        left[i] -= 1
        for limit in limits:
            limit.count(nodes[i])
        found.append(i)
    return found[: _with_enough_groups(wish, [nodes[i] for i in found])]


def _with_enough_groups(wish: Wish, found: Sequence[Node]) -> int:
    """How many may be placed if GROUP_BY must yet see other values in use."""
    count = len(found)
    for constraint in wish.constraints:
        used = {node.value(constraint.field) for node in (*wish.fellows, *found)}
        missing = min(constraint.groups, wish.tasks) - len(used) - wish.absent
        count = min(count, wish.wanted - missing)
    return max(0, count)


class _Row:
    """Nodes one after the other, each until it is full. A full node never takes more later."""

    def __init__(self, members: Sequence[int], takes_more: Callable[[int], bool]) -> None:
        self._members = members
        self._takes_more = takes_more
        self._next = 0

    def pick(self) -> int | None:
        while self._next < len(self._members):
            if self._takes_more(self._members[self._next]):
                return self._members[self._next]
            self._next += 1
        return None


class _Spread:
    """Always picks from the source that was used least."""

    def __init__(self, sources: Iterable[tuple[int, _Source]]) -> None:
        self._heap = [(count, n, source) for n, (count, source) in enumerate(sources)]
        heapq.heapify(self._heap)

    def pick(self) -> int | None:
        while self._heap:
            count, n, source = self._heap[0]
            if (found := source.pick()) is not None:
                heapq.heapreplace(self._heap, (count + 1, n, source))
                return found
            heapq.heappop(self._heap)
        return None


_Source = _Row | _Spread


def _source(
    members: Sequence[int],
    fields: Sequence[str],
    nodes: Sequence[Node],
    fellows: Sequence[Node],
    takes_more: Callable[[int], bool],
) -> _Source:
    """Spreads over the values of the first field, and within each over those of the next."""
    if not fields:
        return _Row(members, takes_more)
    first, *others = fields
    groups: dict[str | None, list[int]] = {}
    for i in members:
        groups.setdefault(nodes[i].value(first), []).append(i)
    taken: dict[str | None, list[Node]] = {}
    for node in fellows:
        taken.setdefault(node.value(first), []).append(node)
    return _Spread(
        (len(mine), _source(group, others, nodes, mine, takes_more))
        for value, group in groups.items()
        for mine in [taken.get(value, [])]
    )


def barrier(wish: Wish) -> Callable[[Node], Constraint | None]:
    """The constraint that keeps a task from joining the others on a node; None if there is none."""
    checks = [(each, _joins(each, wish.fellows, wish)) for each in wish.constraints]
    return lambda node: next((found for found, joins in checks if not joins(node)), None)


def obstacle(
    wish: Wish,
    nodes: Sequence[Node],
    rooms: Sequence[int],
    found: Sequence[Node] = (),
    agent: str = "agent with room",
) -> str:
    """The constraint that leaves a task of the wish without a place, in words.

    *found* is where its other tasks are, *rooms* what is left on the nodes, and *agent* what the
    nodes are called. Empty if there is simply no room.
    """
    seated = [*wish.fellows, *found]
    left = [node for node, room in zip(nodes, rooms, strict=True) if room > 0]
    for constraint in wish.constraints if left else ():
        before, joins = left, _joins(constraint, seated, wish)
        left = [node for node in left if joins(node)]
        if not left:
            if not any(constraint.admits(node) for node in before):
                return f"no {agent} meets {constraint} ({_there(constraint, before)})"
            return _words(constraint, seated, wish)
    for constraint in wish.constraints if left else ():
        if _count(constraint, [*seated, *left]) < min(constraint.groups, wish.tasks):
            there = _some(constraint, [*seated, *left])
            return f"{constraint} needs {constraint.groups} different values; there are {there}"
    together = " and ".join(map(str, wish.constraints))
    return f"no arrangement found that meets {together}" if left and together else ""


def _joins(constraint: Constraint, seated: Sequence[Node], wish: Wish) -> Callable[[Node], bool]:
    """Does this constraint allow one more task on a node?"""
    if constraint.chooses_value and seated:
        value = seated[0].value(constraint.field)
        return lambda node: node.value(constraint.field) == value
    most = constraint.limit(wish.tasks)
    if most is None:
        return constraint.admits
    limit = _Limit(constraint, most, seated)
    return lambda node: constraint.admits(node) and limit.allows(node)


def _there(constraint: Constraint, nodes: Iterable[Node]) -> str:
    found = _some(constraint, nodes)
    return f"{constraint.noun}: {found}" if found else f"none has an attribute {constraint.field}"


def _words(constraint: Constraint, seated: Sequence[Node], wish: Wish) -> str:
    """Why no node can take one more task although some could take the first."""
    noun = constraint.noun
    if constraint.chooses_value:
        value = seated[0].value(constraint.field)
        return f"no {noun} has room for all {wish.tasks} tasks ({constraint}); tried {value}"
    used = f"{noun}s used" if noun == "host" else f"{noun} used"
    return f"no further {noun} for {constraint}; {used}: {_some(constraint, seated)}"


def _count(constraint: Constraint, nodes: Iterable[Node]) -> int:
    return len({node.value(constraint.field) for node in nodes} - {None})


def _some(constraint: Constraint, nodes: Iterable[Node]) -> str:
    """Some of the values that *nodes* have."""
    values = {node.value(constraint.field) for node in nodes}
    return join_names(sorted(value for value in values if value is not None), _SHOWN)
