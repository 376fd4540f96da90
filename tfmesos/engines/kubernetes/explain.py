"""Explains what a run is waiting for while not all of its pods are placed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...config.job import Resources, Task
from ...text import count, join_names
from .events import NodeRoom

_MOST = 3  # reasons in one line
_OF_SCHEDULER = re.compile(r"\d+/\d+ nodes are available: (.+?)\.?( preemption: .*)?")


def explain(refused: Iterable[tuple[Task, str]], nodes: Sequence[NodeRoom]) -> str:
    """*refused*: tasks and what the scheduler says about them; *nodes*: all that we may see."""
    by_words: dict[str, list[Task]] = {}
    for task, words in refused:
        by_words.setdefault(words or "the scheduler has not looked at the pod yet", []).append(task)
    reasons = [_reason(words, tasks) for words, tasks in list(by_words.items())[:_MOST]]
    tasks = [task for same in by_words.values() for task in same]
    numbers = _numbers(tasks[0], nodes) if tasks and nodes else ""
    return "; ".join([*reasons, *([numbers] if numbers else [])])


def _reason(words: str, tasks: Sequence[Task]) -> str:
    return f"{join_names([task.name for task in tasks])}: {causes(words)}"


def causes(words: str) -> str:
    """The part of the scheduler's sentence that says what is missing, such as 3 Insufficient cpu.

    The part about preemption repeats the causes; -v shows the whole sentence.
    """
    found = _OF_SCHEDULER.fullmatch(words.strip())
    return (found[1] if found else words).rstrip(".")


def _numbers(task: Task, nodes: Sequence[NodeRoom]) -> str:
    needs = task.job.needs
    fitting = sum(node.room.times(needs) > 0 for node in nodes)
    largest = max(nodes, key=lambda node: _rank(node.room))
    text = f"{task.name} needs {needs}"
    if fitting:
        return f"{text}: {fitting} of {count(len(nodes), 'node')} have that much, if it is free"
    return f"{text}, and the largest node, {largest.name}, has {largest.room.shown(needs)}"


def too_large(task: Task, nodes: Sequence[NodeRoom]) -> str:
    """Why no node can ever hold *task*; empty if one might."""
    needs = task.job.needs
    is_too_large = nodes and not any(node.room.times(needs) for node in nodes)
    return _numbers(task, nodes) if is_too_large else ""


def _rank(room: Resources) -> tuple[int, int, int]:
    """The rarest resource counts first."""
    return room.gpus, room.cpus, room.mem
