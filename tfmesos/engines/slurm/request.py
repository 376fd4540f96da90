"""The arguments of sbatch and srun for a batch job. No I/O."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from ...config.job import Job
from ...config.kubernetes_settings import SLURM_GPU
from ...config.launch_config import LaunchConfig
from ...config.slurm_settings import partition_of
from .actions import Step, step_name
from .api.answers import MARK, KnownNode
from .node_choice import options as node_options

_DEFAULT_NAME = "[tensorflow] "  # the beginning of default names
_TIME_MARGIN = 60.0  # seconds that a job lives longer than its run, to end in an orderly way
# What the steps of all jobs have in common: one task that ends does not end the others.
STEP = (
    *("--kill-on-bad-exit=0", "--wait=0", "--mpi=none", "--export=ALL", "--chdir=/"),
    "--input=all",
)


def comment(run_id: str, key: str) -> str:
    """The comment that identifies our job, and by which it is found if sbatch's answer was lost."""
    return f"{MARK} {run_id} {key}"


def job_name(config: LaunchConfig, run_id: str) -> str:
    return run_id if config.name.startswith(_DEFAULT_NAME) else config.name


def submission(
    config: LaunchConfig,
    run_id: str,
    key: str,
    steps: Sequence[Step],
    nodes: Sequence[KnownNode],
) -> list[str]:
    """The arguments of sbatch; the script comes by its standard input."""
    words: list[str] = ["--parsable"]
    for group in range(1 + max(step.group for step in steps)):
        words += [":"] if group else []
        words += [*_common(config, run_id), f"--comment={comment(run_id, key)}"]
        words += _component([step for step in steps if step.group == group], config, nodes)
    return words


def _common(config: LaunchConfig, run_id: str) -> Iterator[str]:
    yield f"--job-name={job_name(config, run_id)}"
    yield from ("--output=/dev/null", "--input=/dev/null", "--export=ALL", "--chdir=/")
    yield "--no-requeue"
    if partition := partition_of(config.master):
        yield f"--partition={partition}"
    if config.run_timeout is not None:
        seconds = config.run_timeout + config.kill_grace + _TIME_MARGIN
        yield f"--time={math.ceil(seconds / 60)}"
    yield from config.slurm.options


def _component(
    steps: Sequence[Step], config: LaunchConfig, nodes: Sequence[KnownNode]
) -> Iterator[str]:
    tasks = sum(len(step.seats) for step in steps)
    job = steps[0].seats[0].task.job
    yield f"--ntasks={tasks}"
    yield from amounts(job, config)
    if job.disk:
        yield f"--tmp={math.ceil(job.disk)}M"
    yield from node_options(job, tasks, nodes, steps[0].avoid)


def amounts(job: Job, config: LaunchConfig) -> Iterator[str]:
    """What each task gets, for sbatch and again for srun, which does not inherit it."""
    cpus = math.ceil(job.cpus)
    yield f"--cpus-per-task={cpus}"
    yield f"--mem-per-cpu={math.ceil(job.mem / cpus)}M"
    if job.gpus:
        yield f"--gpus-per-task={_gpus(job, config)}"


def _gpus(job: Job, config: LaunchConfig) -> str:
    named = config.pods.gpu_resource
    kind = f"{named.partition(':')[2]}:" if SLURM_GPU.fullmatch(named) else ""
    return f"{kind}{job.gpus}"


def step_arguments(step: Step, groups: int, config: LaunchConfig) -> list[str]:
    """The arguments of srun in the script of a job with this many components."""
    job = step.seats[0].task.job
    words = [f"--job-name={step_name(step)}", f"--ntasks={len(step.seats)}", *STEP]
    words += [f"--het-group={step.group}"] if groups > 1 else []
    words += [*amounts(job, config)]
    words += ["--exact"] if job.gpus else []
    limits = [one.limit(len(step.seats)) for one in job.constraints if not one.is_fixed]
    words += [f"--ntasks-per-node={limit}" for limit in limits if limit]
    return words


def later_step_arguments(
    job_id: str, step: Step, groups: int, config: LaunchConfig, *, is_given: bool
) -> list[str]:
    """The arguments of srun for one more step of a running job.

    A step that is started again shares processors and memory with the one in which its task was
    before: that one holds them until the last of its tasks has ended.
    """
    if is_given or step.seats[0].task.job.gpus:
        words = [*step_arguments(step, groups, config), "--exact"]
        words = [word for word in words if not word.startswith("--mem-per-cpu=")] + ["--mem=0"]
    else:
        words = [*step_arguments(step, groups, config), "--overlap", "--mem=0"]
        words = [word for word in words if not word.startswith(("--mem-per", "--cpus-per"))]
    words = list(dict.fromkeys(words))
    words += [f"--nodelist={step.node}"] if step.node else []
    return [f"--jobid={job_id}", *words]
