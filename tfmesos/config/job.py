"""Jobs, their tasks and the resources they need, checked.

Errors name the *field*; tfrun translates it into the flag.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from ..errors import SpecError
from ..record import Record
from .constraints import parse as parse_constraint
from .constraints import parse_all
from .exec_limits import long_argument, wrong_name
from .failure_settings import policy_word
from .restart_settings import Often, parse_codes, parse_limit
from .setting import how_often, image_name
from .units import SIZE, mebibytes

DEFAULT_CPUS = 1.0
DEFAULT_MEM = 1024.0  # MiB, as Mesos counts it
MIN_MEM = 32.0  # what Mesos asks for at least, with its own executor
MAX_NAME = 63  # characters
MAX_PORT = 65535
MAX_NUM = 1_000_000  # tasks of a job: more would take our memory before anything else is asked
EVALUATOR = "evaluator"
TENSORBOARD = "tensorboard"
SINGLE_TYPES = ("chief", "master", EVALUATOR)  # TensorFlow knows at most one of each

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")  # what TensorFlow accepts as a job name


DECIDING_TYPES = ("chief", "master", "worker")  # the first of them that there is


class Resources(NamedTuple):
    """Amounts in thousandths, as exact as Mesos itself counts scalars."""

    cpus: int = 0
    mem: int = 0
    gpus: int = 0
    disk: int = 0

    @classmethod
    def of(cls, cpus: float = 0, mem: float = 0, gpus: float = 0, disk: float = 0) -> Resources:
        return cls(*(round(amount * 1000) for amount in (cpus, mem, gpus, disk)))

    @classmethod
    def sum(cls, amounts: Iterable[Resources]) -> Resources:
        return cls(*map(sum, zip(*amounts, strict=True)))

    def minus(self, other: Resources) -> Resources:
        return Resources(*(mine - theirs for mine, theirs in zip(self, other, strict=True)))

    def times(self, needs: Resources) -> int:
        """How many times these hold *needs*."""
        pairs = zip(self, needs, strict=True)
        return min((have // need for have, need in pairs if need > 0), default=0)

    def named(self) -> Iterable[tuple[str, int]]:
        return zip(self._fields, self, strict=True)

    def shortage(self, needs: Resources) -> str:
        """What these resources lack of *needs*, in words; empty when they suffice."""
        lacking = (
            f"{name} {have / 1000:g} < {need / 1000:g}"
            for (name, have), need in zip(self.named(), needs, strict=True)
            if have < need
        )
        return ", ".join(lacking)

    def __str__(self) -> str:
        return self.shown(Resources())

    def shown(self, wanted: Resources) -> str:
        """The amounts in words; a zero is shown only if it is *wanted*."""
        pairs = zip(self.named(), wanted, strict=True)
        found = (
            f"{name} {amount / 1000:.10g}"
            for (name, amount), want in pairs
            if amount or want or name in ("cpus", "mem")
        )
        return ", ".join(found)


class Job(Record):
    """A group of identical tasks: the ``ps`` tasks, or the ``worker`` tasks.

    ``name``
        ``ps``, ``worker``, ``chief``, ``evaluator``, or any other name
    ``num``
        the number of its tasks; ``(2, 8)`` or ``"2:8"`` asks for eight, but starts with fewer, at
        least two, if there is no room for eight. Only one job of a run may have such a range
    ``at_least``
        the lower end of that range, if ``num`` is its upper end
    ``cpus``, ``mem``, ``gpus``, ``disk``
        the resources of each task; ``mem`` and ``disk`` in MiB, or as strings such as ``2G``
    ``cmd``
        the command of each task. A list is executed as it is, a string goes to a shell. Without
        ``cmd`` the tasks run TensorFlow servers
    ``start``
        leaves out the tasks before this index, which you run yourself. The others then have no
        ``TF_CONFIG``, because it cannot leave out a task
    ``constraints``
        which nodes to use: strings such as ``hostname:UNIQUE``
    ``task_type``
        the role of its tasks in TensorFlow, in ``TF_CONFIG`` and in placeholders: ``chief``,
        ``worker``, ``ps``, ``evaluator`` (default: the name of the job). Tasks of several jobs
        with the same type are numbered consecutively
    ``image``, ``env``, ``cwd``
        like the settings of these names, for this job only; ``env`` is added to that of the run,
        and an ``image`` of ``""`` means none
    ``port``
        the port of each task: ``2222`` is tried first, ``"=2222"`` is required
    ``reserve_port``
        like the setting of this name, for this job only
    ``restarts``, ``restart_policy``, ``retry_codes``
        like the settings of these names, for this job only
    ``pod_template``
        a dict on which the pods of this job on Kubernetes are based; it takes precedence over the
        setting of this name
    """

    name: str
    num: int
    cpus: float = DEFAULT_CPUS
    mem: float = DEFAULT_MEM
    gpus: int = 0
    cmd: str | Sequence[str] | None = None
    start: int = 0
    disk: float = 0.0  # MiB
    constraints: Sequence[Any] = ()  # texts such as "hostname:UNIQUE"; kept as Constraint
    restarts: Often = None  # kept as a number
    restart_policy: str | None = None
    retry_codes: str | Iterable[int] | None = None  # kept as a set
    image: str | None = None  # None: that of the run
    env: Mapping[str, str] | Sequence[tuple[str, str]] = ()  # kept as pairs
    cwd: str | None = None
    port: int | str | None = None
    reserve_port: bool | None = None
    pod_template: Mapping[str, Any] | str = ""  # kept as JSON
    task_type: str = ""  # kept as the name, if it is not given
    at_least: int | None = None  # how many of num a run begins with if there is no room for more
    type_offset: int = 0  # how many tasks of this type other jobs have; set for a whole run

    def __post_init__(self) -> None:
        object.__setattr__(self, "task_type", self.task_type or self.name)
        self._read_range()
        for name in ("name", "task_type"):
            self._require_name(name)
        for name in ("mem", "disk"):
            self._read_size(name)
        for name in ("num", "cpus", "mem", "gpus", "start", "disk"):
            self._require_number(name)
        for name in ("num", "gpus", "start"):
            value = getattr(self, name)
            self._require(value == int(value), name, f"must be a whole number, got {value:g}")
            object.__setattr__(self, name, int(value))
        self._require(self.num >= 0, "num", f"must not be negative, got {self.num}")
        self._require(self.num <= MAX_NUM, "num", f"must be at most {MAX_NUM}, got {self.num}")
        self._require(self.cpus > 0, "cpus", f"must be above 0, got {self.cpus:g}")
        self._require(
            self.mem >= MIN_MEM, "mem", f"must be at least {MIN_MEM:g} (MiB), got {self.mem:g}"
        )
        self._require(self.gpus >= 0, "gpus", f"must not be negative, got {self.gpus}")
        self._require(self.disk >= 0, "disk", f"must not be negative, got {self.disk:g}")
        self._require(
            0 <= self.start <= self.num, "start", f"must be from 0 to num, got {self.start}"
        )
        self._require(
            self.task_type not in SINGLE_TYPES or self.num <= 1,
            "num",
            f"must be 0 or 1 (TensorFlow allows only one {self.task_type}), got {self.num}",
        )
        self._check_range()
        self._check_cmd()
        self._parse_constraints()
        self._parse_restarts()
        self._check_surroundings()
        self._keep_template()
        self._check_port()

    def _require(self, ok: bool, field: str, problem: str) -> None:
        if not ok:
            raise SpecError(self.name, field, problem)

    def _require_name(self, field: str) -> None:
        value = getattr(self, field)
        if not isinstance(value, str) or not _NAME.fullmatch(value):
            raise SpecError(str(self.name), field, "may contain only letters, digits and _")
        # It is a part of the task's id, and has to fit in there.
        problem = f"must have at most {MAX_NAME} characters, got {len(value)}"
        self._require(len(value) <= MAX_NAME, field, problem)

    def _read_range(self) -> None:
        """``2:8`` or a pair: at least two, and eight if there is room."""
        num: Any = self.num
        if isinstance(num, str) and ":" in num:
            parts = [part.strip() for part in num.split(":")]
            is_good = len(parts) == 2 and all(part.isascii() and part.isdigit() for part in parts)
            self._require(is_good, "num", f"must be a number, or MIN:MAX as in 2:8, got {num!r}")
            num = tuple(map(int, parts))
        if isinstance(num, (tuple, list)):
            is_good = len(num) == 2 and all(type(one) is int for one in num)
            self._require(is_good, "num", f"must be a number, or MIN:MAX as in 2:8, got {num!r}")
            object.__setattr__(self, "at_least", num[0])
            num = num[1]
        object.__setattr__(self, "num", num)

    def _check_range(self) -> None:
        least = self.at_least
        if least is None:
            return
        self._require(type(least) is int, "at_least", f"must be a whole number, got {least!r}")
        problem = f"must be MIN:MAX with a MIN from 1 to MAX, got {least}:{self.num}"
        self._require(1 <= least <= self.num, "num", problem)
        self._require(not self.start, "start", f"must be 0 with a range of tasks, got {self.start}")
        object.__setattr__(self, "at_least", None if least == self.num else least)

    def _read_size(self, name: str) -> None:
        value = getattr(self, name)
        if isinstance(value, str):
            size = mebibytes(value)
            self._require(size is not None, name, f"must be {SIZE}, got {value!r}")
            object.__setattr__(self, name, size)

    def _require_number(self, name: str) -> None:
        value = getattr(self, name)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        self._require(
            is_number and abs(value) < float("inf"), name, f"must be a number, got {value!r}"
        )

    def _check_cmd(self) -> None:
        if self.cmd is None:
            return
        if isinstance(self.cmd, str):
            self._require(bool(self.cmd.strip()), "cmd", "must not be empty")
            self._require_short(self.cmd)
            return
        is_list = isinstance(self.cmd, Sequence) and all(isinstance(a, str) for a in self.cmd)
        self._require(is_list and bool(self.cmd), "cmd", "must be a string or a list of strings")
        self._require_short(*self.cmd)
        object.__setattr__(self, "cmd", tuple(self.cmd))

    def _require_short(self, *arguments: str) -> None:
        problem = long_argument(*arguments)
        self._require(not problem, "cmd", problem)

    def _parse_constraints(self) -> None:
        try:
            parsed = tuple(parse_constraint(given) for given in parse_all(self.constraints))
        except SpecError as error:
            raise SpecError(self.name, error.field, error.problem) from None
        object.__setattr__(self, "constraints", parsed)

    def _parse_restarts(self) -> None:
        for field, check in (("restarts", how_often), ("restart_policy", policy_word)):
            value = getattr(self, field)
            problem = "" if value is None or value == inf else check(value)
            self._require(not problem, field, problem)
        if self.restarts is not None:
            object.__setattr__(self, "restarts", parse_limit(self.restarts))
        try:
            codes = None if self.retry_codes is None else parse_codes(self.retry_codes)
        except SpecError as error:
            raise SpecError(self.name, error.field, error.problem) from None
        object.__setattr__(self, "retry_codes", codes)

    def _check_surroundings(self) -> None:
        for field, kind in (("image", str), ("cwd", str), ("reserve_port", bool)):
            value = getattr(self, field)
            what = "a string" if kind is str else "True or False"
            self._require(isinstance(value, kind | None), field, f"must be {what}, got {value!r}")
        problem = image_name(self.image or "")
        self._require(not problem, "image", problem)
        self._require(
            isinstance(self.env, (Mapping, tuple)), "env", f"must be a dict, got {self.env!r}"
        )
        env = dict(self.env)
        for name, value in env.items():
            text = f"must contain strings, got {value!r} for {name}"
            self._require(isinstance(value, str), "env", text)
        problem = wrong_name(env)
        self._require(not problem, "env", problem)
        object.__setattr__(self, "env", tuple(env.items()))

    def _keep_template(self) -> None:
        """As text: a job can be compared and is a key."""
        if isinstance(self.pod_template, Mapping):
            kept = json.dumps(self.pod_template, sort_keys=True) if self.pod_template else ""
            object.__setattr__(self, "pod_template", kept)
        problem = f"must be a dict, got {self.pod_template!r}"
        self._require(isinstance(self.pod_template, str), "pod_template", problem)

    def _check_port(self) -> None:
        if self.port is None:
            return
        digits = str(self.port).removeprefix("=")
        is_number = digits.isascii() and digits.isdigit() and 0 < int(digits[:6]) <= MAX_PORT
        problem = f"must be a port such as 2222, or =2222 to require it, got {self.port!r}"
        self._require(is_number and not isinstance(self.port, bool), "port", problem)

    @property
    def wanted_port(self) -> int:
        """0: any."""
        return int(str(self.port).removeprefix("=")) if self.port else 0

    @property
    def insists_on_port(self) -> bool:
        return str(self.port).startswith("=")

    def __repr__(self) -> str:
        """The job as one would write it: only values that differ from the defaults."""
        fields = {**self._values(), "constraints": tuple(map(str, self.constraints))}
        fields["env"] = dict(self.env) or ()
        usual = type(self)._defaults
        usual = {**usual, "task_type": self.name, "type_offset": self.type_offset}
        more = [f", {k}={v!r}" for k, v in fields.items() if k in usual and v != usual[k]]
        return f"Job({self.name!r}, {self.num}{''.join(more)})"

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(Task(self, index) for index in range(self.start, self.num))

    @property
    def size(self) -> int:
        """The number of its tasks."""
        return self.num - self.start

    @property
    def least_size(self) -> int:
        """The number of tasks without which it does not begin."""
        return self.size if self.at_least is None else self.at_least

    @property
    def size_text(self) -> str:
        """As it was asked for: 8, or 2:8."""
        return str(self.size) if self.at_least is None else f"{self.at_least}:{self.num}"

    @property
    def is_auxiliary(self) -> bool:
        """Are its tasks auxiliary? Then they never affect the outcome of the run."""
        return self.task_type == TENSORBOARD

    @property
    def needs(self) -> Resources:
        return Resources.of(self.cpus, self.mem, self.gpus, self.disk)


class Task(Record):
    job: Job
    index: int

    @property
    def name(self) -> str:
        return f"{self.job.name}:{self.index}"

    @property
    def mesos_name(self) -> str:
        return f"/job:{self.type}/task:{self.number}"

    @property
    def type(self) -> str:
        """What it is to TensorFlow."""
        return self.job.task_type

    @property
    def is_auxiliary(self) -> bool:
        return self.job.is_auxiliary

    @property
    def is_private(self) -> bool:
        """Is it meant only for the owner of the run?

        Not if it has a port where others expect it.
        """
        return self.is_auxiliary and not self.job.port

    @property
    def is_optional(self) -> bool:
        """Can the others begin without it?"""
        return self.index >= self.job.start + self.job.least_size

    @property
    def number(self) -> int:
        """Among all tasks of its type."""
        return self.job.type_offset + self.index
