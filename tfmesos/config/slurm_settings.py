"""The rows of the table of settings that only Slurm supports."""

import re
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from ..errors import SpecError
from ..record import Record
from .engine_kinds import SLURM, SLURM_SCHEME
from .setting import PLACE, Setting

_OPTION = re.compile(r"--[a-z][a-z0-9-]*(=\S.*)?")
_PARTITION = re.compile(r"[\w.-]*(,[\w.-]+)*", re.ASCII)
_OURS = "is set by tfmesos itself"
# What an option of sbatch may not be, and the way to say it.
_TAKEN = {
    **dict.fromkeys(("ntasks", "nodes", "distribution"), "-w, -s, --constraint"),
    **dict.fromkeys(
        ("ntasks-per-node", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-socket"),
        "-w, -s, --constraint",
    ),
    **dict.fromkeys(("cpus-per-task", "cpus-per-gpu"), "-Cw, -Cs"),
    **dict.fromkeys(("mem", "mem-per-cpu", "mem-per-gpu"), "-Mw, -Ms"),
    **dict.fromkeys(("gpus", "gpus-per-task", "gpus-per-node", "gres"), "-Gw, --gpu-resource"),
    **dict.fromkeys(("nodelist", "exclude", "constraint", "spread-job"), "--constraint"),
    "tmp": "--worker-disk",
    "clusters": "the variable SLURM_CLUSTERS",
    "partition": f"-m {SLURM_SCHEME}PARTITION",
    "job-name": "-n",
    **dict.fromkeys(("output", "error"), "--output-dir"),
    **dict.fromkeys(("export", "export-file"), "--env, --env-file"),
    **dict.fromkeys(("requeue", "no-requeue"), "--restart-policy"),
    "chdir": "--cwd",
    "signal": "--checkpoint-before",
    **dict.fromkeys(("array", "input", "parsable", "test-only", "wait", "wrap"), ""),
    **dict.fromkeys(("uid", "gid", "help", "usage", "version"), ""),
    **dict.fromkeys(("comment", "hold", "no-kill", "quiet", "open-mode"), ""),
}


class SlurmSettings(TypedDict, total=False):
    """A part of ``Settings``."""

    slurm_options: Annotated[
        Iterable[str] | None,
        Setting(
            "option for sbatch on Slurm that no other flag covers, such as --account=research",
            ("--slurm-option",),
            PLACE,
            "OPTION",
            default=(),
            is_repeatable=True,
            engines=(SLURM,),
        ),
    ]


class SlurmRequest(Record):
    """What only a run on Slurm is asked for with."""

    options: tuple[str, ...] = ()  # for sbatch
    allocation: str = ""  # the job that the launcher runs in, whose nodes are to be used

    @property
    def time_limit(self) -> bool:
        """Do the options set one?"""
        return any(name_of(option) == "time" for option in self.options)


def name_of(option: str) -> str:
    return option.removeprefix("--").partition("=")[0]


def partition_of(master: str) -> str:
    """The partition that *master* names; empty for the default one."""
    partition = master.removeprefix(SLURM_SCHEME)
    if not _PARTITION.fullmatch(partition):
        problem = f"must be {SLURM_SCHEME}[PARTITION], got {master!r}"
        raise SpecError(None, "master", problem)
    return partition


def parse_options(given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        problem = f"must be a list of options such as --account=research, got {given!r}"
        raise SpecError(None, "slurm_options", problem)
    return tuple(map(_option, given))


def _option(text: Any) -> str:
    if not isinstance(text, str) or not _OPTION.fullmatch(text):
        problem = f"must be a long option of sbatch such as --account=research, got {text!r}"
        raise SpecError(None, "slurm_options", problem)
    given = name_of(text)
    taken = next((name for name in _TAKEN if name.startswith(given)), None)  # as sbatch reads it
    if taken is not None:
        instead = _TAKEN[taken]
        problem = f"{_OURS}: use {instead}" if instead else "is not possible in a run"
        raise SpecError(None, "slurm_options", f"{text!r} {problem}")
    return text
