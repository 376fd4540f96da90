"""What Slurm does not have or does not take: one line each, and nothing is left."""

from __future__ import annotations

import pytest

from tests.commands import tfrun

from .cluster import CPUS, NODES
from .test_runs import SMALL

TOO_MANY = CPUS * len(NODES) + 1


@pytest.mark.parametrize(
    "words, code, parts",
    [
        (("-m", "slurm://none"), 2, ("--master", "'none'", "main", "small", "urgent")),
        (("-m", "slurm://small", "-w", 5), 75, ("cannot be placed", "PartitionConfig")),
        (("-m", "slurm://", "-w", TOO_MANY), 75, ("cannot be placed",)),
        (("-m", "slurm://", "-Gw", 3), 75, ("Slurm",)),
        (("-m", "slurm://", "--slurm-option=--nonsense"), 2, ("unrecognized", "--nonsense")),
        (("-m", "slurm://", "--slurm-option=--time=soon"), 2, ("--time",)),
        (("-m", "slurm://", "--slurm-option=--mem=1G"), 2, ("--slurm-option", "-Mw")),
        (("-m", "slurm://", "--constraint", "hostname:IS:n9"), 75, ("hostname:IS:n9",)),
        (("-m", "slurm://", "--user", "nobody"), 2, ("--user", "owner")),
    ],
)
def test_what_slurm_cannot_give_is_refused_in_one_line(slurm, words, code, parts):
    done = tfrun(*words[:2], "-w", 1, *SMALL, *words[2:], "--", "true")
    assert done.returncode == code, done.stderr
    *_, last = done.stderr.splitlines()
    assert last.startswith("tfrun: ") and all(part in last for part in parts), done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


def test_without_its_commands_the_way_out_is_named(tmp_path):
    done = tfrun("-m", "slurm://", "-w", 1, "--", "true", env={"PATH": str(tmp_path)})
    assert done.returncode == 69, done.stderr
    (line,) = done.stderr.splitlines()
    assert "no sbatch on the PATH" in line and "login node" in line
