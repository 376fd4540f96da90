"""What ``tfrun -h`` and ``tfrun --help`` say besides the table of flags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .commands.names import NAMES, TAKING_FLAGS, module_of

USAGE = """\
usage: tfrun -w N [-s N] [options] -- command [argument ...]
       tfrun -w 2 -- python train.py              two workers on this machine
       tfrun -m k8s:// -w 2 -s 1 -- python ..     on Kubernetes, with a ps
       tfrun job.yaml [options] [-- command]      run what a job file describes
"""

DESCRIPTION = (
    "Start a command on as many nodes as it needs, and tell every copy where the others are."
)

# The flags that people need first.
_SHORT = {
    "-w N": "number of workers",
    "-s N": "number of parameter servers",
    "--chief": "add a chief; the run ends when the chief ends",
    "-m MASTER": "local (default), k8s://, slurm:// or a Mesos master",
    "-Gw N, -Cw N, -Mw SIZE": "GPUs, CPUs and memory of each worker",
    "--image IMAGE": "Docker image of the tasks",
    "--env KEY[=VALUE]": "set a variable for the command",
    "--ship[=DIR]": "send this directory to the tasks",
    "--restart-policy POLICY": "what to restart when a task fails: never, task or all",
    "--detach": "continue in the background and print the run's id",
    "--dry-run": "start nothing and show what would run",
}

EXAMPLES = """
examples:
  two workers and a parameter server on this machine:
    tfrun -w 2 -s 1 -- python train.py --ps {ps_hosts} --workers {worker_hosts} \\
                                       --job {job_name} --index {task_index}
  the same on a Mesos cluster, one GPU for each worker, in a container:
    tfrun -m mesos-master:5050 --image me/train -w 2 -s 1 -Gw 1 -- python train.py
  a chief and three workers that read TF_CONFIG, only the chief's output:
    tfrun --chief -w 3 --logs chief -- python train.py
"""


def short_help() -> str:
    """Fits a screen."""
    flags = "".join(f"  {flag:24} {text}\n" for flag, text in _SHORT.items())
    more = "tfrun --help lists every flag; each command has a --help of its own.\n"
    return f"{USAGE}\nthe most important flags:\n{flags}\n{commands()}\n{more}"


def commands() -> str:
    lines = (f"  {name:12} {text}\n" for name, text in _described())
    return "commands:\n" + "".join(lines)


def _described() -> Iterator[tuple[str, str]]:
    """Each command with the first clause of its help."""
    for name in NAMES:
        yield name, re.split("[,;:] ", module_of(name).HELP)[0]
    yield from TAKING_FLAGS.items()
