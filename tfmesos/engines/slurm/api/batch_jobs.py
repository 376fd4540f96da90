"""Jobs and their parts, as Slurm reports them."""

from __future__ import annotations

from ....record import Record


class Component(Record):
    """What a component of an allocation has; only a heterogeneous one has several. None: unknown"""

    nodes: tuple[str, ...]
    cpus: int | None = None
    gpus: int | None = None


class Job(Record):
    """A batch job, or a component of one, as squeue reports it."""

    job_id: str
    group: int
    state: str
    reason: str
    nodes: tuple[str, ...] = ()
    starts_in: float | None = None  # seconds, as Slurm expects
    ends_in: float | None = None  # seconds, by its time limit
    place: int = 0  # among the jobs that wait in its partition; 0: unknown
    ended_steps: tuple[tuple[str, int, str], ...] = ()  # name, code and last words
    cancelled_by: str = ""  # the user, if accounting knows
