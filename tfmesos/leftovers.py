"""What a killed launcher leaves behind, by kind, and who removes it.

A module that creates something which can outlive its process adds a row here, or its name to one;
the table in docs/design.rst is made of these rows.
"""

from __future__ import annotations

from .record import Record


class Leftover(Record):
    """Modules are named by their path in this package."""

    what: str
    made_by: tuple[str, ...]
    removed_by: tuple[str, ...]  # nobody: the kernel does it, or it stays on purpose
    how: str


LEFTOVERS = (
    Leftover(
        "tasks",
        ("engines/local/processes", "engines/local/forks", "node/process/spawn"),
        ("shared/link_timeouts", "node/process/guard"),
        "their runners end them when they have missed the launcher for long enough; if a runner "
        "was killed, too, its guard does it",
    ),
    Leftover(
        "the chief on the machine of the launcher",
        ("launcher/local_chief",),
        ("node/process/guard",),
        "its guard ends it when the pipe to the launcher breaks",
    ),
    Leftover(
        "helpers of the launcher",
        (
            "engines/local/parent_process",
            "engines/slurm/api/commands",
            "engines/kubernetes/api/exec_plugin",
            "runs/on_end",
        ),
        ("engines/local/forks",),
        "the warm parent ends when its channel breaks; commands that the launcher runs end by "
        "themselves",
    ),
    Leftover(
        "scratch directory",
        ("engines/local/scratch_directory",),
        ("shared/held_directory", "engines/local/scratch_directory"),
        "the last runner that holds its lock removes it, or else the next run of this user on "
        "this machine",
    ),
    Leftover(
        "secrets and directories of tasks",
        ("node/task/secret_files", "node/task/workspace", "node/inside/python_stacks"),
        ("node/process/guard", "shared/held_directory"),
        "the runner or its guard removes them, or else the next runner of this user on that node",
    ),
    Leftover(
        "unpacked downloads, links to the page",
        ("launcher/shipment", "runs/page/opening"),
        ("shared/held_directory",),
        "their lock is free, so the next process of this user that makes one removes them",
    ),
    Leftover(
        "half a copy of tfrun cp",
        ("node/process/remover",),
        ("node/process/remover",),
        "a small process beside the one that copies removes it when the pipe between them breaks",
    ),
    Leftover(
        "containers",
        ("engines/local/docker",),
        ("engines/local/docker",),
        "a small keeper beside the launcher removes them, or else the next run of this user that "
        "uses Docker",
    ),
    Leftover(
        "claims to GPUs, the lock of a run",
        ("engines/local/gpu_claims", "runs/takeover/hold"),
        (),
        "the kernel frees them",
    ),
    Leftover(
        "a Mesos framework",
        ("engines/mesos/task_info",),
        ("engines/mesos/task_info",),
        "the master removes it and its tasks after its failover timeout",
    ),
    Leftover(
        "pods and Secrets",
        ("engines/kubernetes/objects",),
        ("engines/kubernetes/takeover/ownership",),
        "they belong to one object that the launcher renews, or another one that takes over; the "
        "next run of this user in that namespace deletes one that nobody renews",
    ),
    Leftover(
        "a Slurm job",
        ("engines/slurm/script",),
        ("engines/slurm/script", "engines/slurm/job_ends"),
        "it ends when its runners have given up on the launcher; a launcher that takes over "
        "cancels a job that is not in the record of its run",
    ),
    Leftover(
        "keys of a run",
        ("runs/takeover/keys_file",),
        ("runs/prune",),
        "they stay as long as another launcher may continue the run; the next run removes those "
        "of a run that has ended",
    ),
    Leftover(
        "address of the page",
        ("runs/page/announcement",),
        ("runs/page/announcement",),
        "its lock is free, so nobody uses it, and the next page replaces it",
    ),
    Leftover(
        "the packed runner",
        ("launcher/links/runner_cache",),
        (),
        "stays on purpose, for the next launcher: one file for each version of Python",
    ),
)
