"""TensorBoard as a job alongside the training, and its settings."""

import shlex
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from .job import TENSORBOARD, Job
from .setting import TASKS, Setting

CPUS, MEM = 0.1, 512.0  # as little as it may take
RESTARTS = 3  # then the run goes on without it


def command(log_dir: str) -> str:
    """The command listens on the address that the launcher announces.

    TensorBoard leaves a file in the directory for temporary files, so that is the directory of the
    task.
    """
    temporary = 'TMPDIR="${TFMESOS_TASK_DIR:-$MESOS_SANDBOX}"'
    board = f'{temporary} tensorboard --host "${{at%:*}}" --port "${{at##*:}}"'
    return f"at={{tensorboard_hosts}}; exec env {board} --logdir {shlex.quote(log_dir)}"


def log_dir_of(value: Any) -> str | None:
    """``DIR`` or ``{logdir: DIR}``. Raises SpecError if it is neither."""
    found = value
    if isinstance(value, Mapping) and set(value) == {"logdir"}:
        found = value["logdir"]
    if found is not None and (not isinstance(found, str) or not found):
        problem = f"must be its event directory, or {{logdir: DIR}}, got {value!r}"
        raise SpecError(None, "tensorboard", problem)
    return found


def with_board(jobs: Iterable[Job], log_dir: str | None) -> Iterator[Job]:
    """The jobs, plus TensorBoard if it has a *log_dir*."""
    for job in jobs:
        if log_dir and job.name == TENSORBOARD:
            problem = f"and a job named {TENSORBOARD} are mutually exclusive: give only one"
            raise SpecError(None, "tensorboard", problem)
        yield job
    if log_dir:
        yield Job(
            TENSORBOARD,
            1,
            cpus=CPUS,
            mem=MEM,
            cmd=command(log_dir),
            restarts=RESTARTS,
            restart_policy="task",
            retry_codes="1-255",
        )


class BoardSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    tensorboard: Annotated[
        str | Mapping[str, str] | None,
        Setting(
            "run TensorBoard alongside the tasks, on this directory of its node or a URL such as "
            "gs://...; TensorBoard never affects the outcome of the run",
            ("--tensorboard",),
            TASKS,
            "LOGDIR",
        ),
    ]
    tensorboard_stays: Annotated[
        bool,
        Setting(
            "keep TensorBoard running after all other tasks have ended, until Ctrl-C or tfrun stop",
            ("--tensorboard-stays",),
            TASKS,
            default=False,
        ),
    ]
    tensorboard_public: Annotated[
        bool,
        Setting(
            "let TensorBoard on a cluster listen on the address of its node, open to everybody "
            "who can reach it, instead of on a port of this machine",
            ("--tensorboard-public",),
            TASKS,
            default=False,
        ),
    ]
