"""What the tasks of a run are doing, requested over channels and grouped by place."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...json_types import Json
from ...node.loop import Loop
from ...sanitize import plain
from ...shared import json_reader
from ...shared.channel import PIECE
from ...text import agreeing
from ..control import Refused
from ..run_files import RunDirectory
from .channel_end import ChannelEnd, connect

AT_ONCE = 16  # tasks
WITHIN = 120.0  # seconds for all of them
LONGEST = 64 * 1024 * 1024  # bytes that a task may answer

_OF_SEVERAL = {"has": "have", "is": "are", "was": "were"}
_ADDRESS = re.compile("0x[0-9a-f]+")

Frame = tuple[str, str, int, bool]  # function, file, line, and whether it is the user's own code


class _Asked:
    """A task that was asked for its stacks."""

    def __init__(self, loop: Loop, run: RunDirectory, task: str, native: bool) -> None:
        self.task = task
        self.problem = ""
        self._lines = bytearray()
        self._tool: Any = None
        self._end: ChannelEnd | None = None
        tool = find_tool()
        self._path = tool
        try:
            connection = connect(run, task, do="stacks", native=native, has_tool=bool(tool))
        except Refused as error:
            self.problem = str(error).removeprefix(f"{run.id}: ").removeprefix(f"{task} ")
            return
        self._end = ChannelEnd(loop, connection, self._take, self._send)

    @property
    def is_over(self) -> bool:
        return self._end is None or self._end.is_over

    def _take(self, stream: int, data: bytes) -> None:
        self._lines += data[: LONGEST - len(self._lines)]
        if self._tool is None and self._lines.startswith(b'{"needs_tool"') and b"\n" in data:
            self._lines = self._lines.partition(b"\n")[2]
            self._tool = open(self._path, "rb")
            self._send()

    def _send(self) -> None:
        if self._end is None or self._tool is None or self._tool.closed:
            return
        while self._end.channel.room > 0:
            data = self._tool.read(min(PIECE, self._end.channel.room))
            if not data:
                self._tool.close()
                return self._end.channel.end()
            self._end.channel.write(data, 0)

    def answers(self) -> list[Json]:
        if self._tool is not None:
            self._tool.close()
        if self._end is not None and not self._end.is_over:
            self._end.close()
            self.problem = "did not answer in time"
        elif self._end is not None and self._end.problem:
            self.problem = self._end.problem
        return read_answers(self.task, bytes(self._lines), self.problem)


def read_answers(task: str, lines: bytes, problem: str = "") -> list[Json]:
    """Reads what a runner has sent, which may be anything."""
    try:
        found = [_answer(json_reader.read(line)) for line in lines.split(b"\n")[:-1]]
    except (ValueError, LookupError, TypeError, AttributeError):
        found, problem = [], "sent a malformed answer"
    if not found and not problem:
        problem = "has no Python process"
    return [{"task": task, **one} for one in found] or [{"task": task, "problem": problem}]


def _answer(said: Any) -> Json:
    """The answer for one process."""
    about: Json = {"pid": int(said["pid"]), "command": str(said["command"])}
    if "threads" not in said:
        return {**about, **{name: str(said[name]) for name in ("problem", "state", "waits")}}
    threads = [
        {
            "name": str(thread["name"]),
            "is_main": thread["is_main"] is True,
            "frames": [
                [str(name), str(file), int(line), is_own is True]
                for name, file, line, is_own in thread["frames"]
            ],
        }
        for thread in said["threads"]
    ]
    return {**about, "threads": threads}


def find_tool() -> str:
    """py-spy on this machine, if it is there."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if os.access(beside, os.X_OK) else shutil.which("py-spy") or ""


def ask_stacks(run: RunDirectory, tasks: Sequence[str], *, native: bool = False) -> list[Json]:
    """The stacks of each Python process of *tasks*, or why a task has none. Raises NoAnswer."""
    with Loop() as loop:
        return [
            answer
            for at in range(0, len(tasks), AT_ONCE)
            for answer in _ask_some(loop, run, tasks[at : at + AT_ONCE], native)
        ]


def _ask_some(loop: Loop, run: RunDirectory, tasks: Sequence[str], native: bool) -> list[Json]:
    asked = [_Asked(loop, run, task, native) for task in tasks]
    timer = loop.after(WITHIN, lambda: None)
    end = timer.when
    loop.run_until(lambda: all(one.is_over for one in asked) or time.monotonic() >= end)
    timer.cancel()
    return [answer for one in asked for answer in one.answers()]


def grouped(answers: Iterable[Json], jobs: Mapping[str, int]) -> list[str]:
    """As lines: processes at the same place together, the largest group first.

    *jobs* says how many tasks each job of the run has.
    """
    groups: dict[Any, list[Json]] = {}
    for answer in answers:
        groups.setdefault(_key(answer), []).append(answer)
    lines: list[str] = []
    for group in sorted(groups.values(), key=len, reverse=True):
        lines += [*_group_lines(group, jobs), ""]
    return [plain(line) for line in lines[:-1]]


def _key(answer: Json) -> Any:
    """A key that is equal for processes that are shown together."""
    if "threads" not in answer:
        return answer.get("problem"), answer.get("state"), answer.get("waits")
    return tuple((*_without_address(name), *rest) for name, *rest in main_frames(answer))


def _without_address(name: str) -> tuple[str, ...]:
    """C code without a name has its address, which differs from one process to the next."""
    return () if _ADDRESS.fullmatch(name) else (name,)


def main_frames(answer: Json) -> list[Frame]:
    """The frames of the main thread, the innermost first."""
    threads = answer.get("threads") or [{"frames": []}]
    main = next((one for one in threads if one.get("is_main")), threads[0])
    return [(str(one[0]), str(one[1]), int(one[2]), bool(one[3])) for one in main["frames"]]


def _group_lines(group: Sequence[Json], jobs: Mapping[str, int]) -> list[str]:
    first = group[0]
    who = named([one["task"] for one in group], jobs)
    if "threads" not in first:
        kernel = ", ".join(filter(None, (first.get("state"), first.get("waits"))))
        problem = _of_number(len({one["task"] for one in group}), str(first.get("problem")))
        return [f"{who}: {problem}", *([f"    {kernel}"] if kernel else [])]
    frames = main_frames(first)
    place = next((frame for frame in frames if frame[3]), None)
    at = _words(place or frames[0]) if frames else "no Python code"
    others = [
        f"    thread {one['name'] or '?'}: {_words(one['frames'][0])}"
        for one in first["threads"]
        if one["frames"] and not one.get("is_main")
    ]
    return [f"{who}: {at}", *(f"    {_words(frame)}" for frame in frames), *others]


def _of_number(tasks: int, problem: str) -> str:
    """A *problem* that begins with its verb, whose subject is so many tasks."""
    verb, space, rest = problem.partition(" ")
    return f"{agreeing(tasks, verb, _OF_SEVERAL.get(verb, verb))}{space}{rest}"


def _words(frame: Sequence[Any]) -> str:
    name, file, line, _ = frame
    return f"{name} at {file}:{line}" if line else f"{name} at {file}"  # C code has no line


def named(tasks: Sequence[str], jobs: Mapping[str, int]) -> str:
    """ps:0, worker:2-5 of 8; with the number of processes if a task has several."""
    found: dict[str, list[int]] = {}
    for task in dict.fromkeys(tasks):
        job, _, index = task.rpartition(":")
        found.setdefault(job, []).append(int(index))
    parts = [_of_job(job, numbers, jobs) for job, numbers in found.items()]
    several = f" ({len(tasks)} processes)" if len(tasks) > len(set(tasks)) else ""
    return ", ".join(parts) + several


def _of_job(job: str, numbers: Sequence[int], jobs: Mapping[str, int]) -> str:
    ranges = ", ".join(f"{job}:{part}" for part in _ranges(numbers))
    return f"{ranges} of {jobs[job]}" if len(numbers) > 1 and job in jobs else ranges


def _ranges(numbers: Sequence[int]) -> list[str]:
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    return [str(one[0]) if len(one) == 1 else f"{one[0]}-{one[-1]}" for one in found]
