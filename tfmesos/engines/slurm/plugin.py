"""The plugin of Slurm, by which the launcher finds this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...config.launch_config import LaunchConfig
from ...config.slurm_settings import partition_of
from ..api import Context, EngineDecider, Plugin, Setup

LIMIT_MARGIN = 10.0  # seconds in which tasks that were stopped have surely ended
_BY_MUNGE = "munge says who you are"
_INSTEAD = {
    "containerizer_type": "images are run by pyxis or Apptainer",
    "force_pull_image": "pyxis or Apptainer decides when to pull an image",
    "role": "name an account with the setting slurm_options",
    "principal": _BY_MUNGE,
    "secret_file": _BY_MUNGE,
    "token_file": _BY_MUNGE,
    "ca_file": _BY_MUNGE,
    "cert_file": _BY_MUNGE,
    "key_file": _BY_MUNGE,
}


class SlurmPlugin(Plugin):
    instead = _INSTEAD

    def check_master(self, master: str) -> None:
        partition_of(master)

    def completed(self, config: LaunchConfig, environ: Mapping[str, str]) -> LaunchConfig:
        """Within an allocation its nodes are used, unless a partition is named."""
        around = "" if partition_of(config.master) else environ.get("SLURM_JOB_ID", "")
        return config.replace(slurm=config.slurm.replace(allocation=around))

    def can_be_followed(self, config: LaunchConfig) -> bool:
        """Tasks end with the allocation that we run in, and so does the launcher."""
        return not config.slurm.allocation

    def check(self, config: LaunchConfig) -> None:
        from .refusals import check

        check(config)

    def why_readdressed(self, old: LaunchConfig, new: LaunchConfig) -> str:
        """A step in the same job keeps its node; other needs take another job."""
        if old.slurm.allocation:
            return ""
        from .allocation import shape

        after = {job.name: job for job in new.jobs}
        for job in old.jobs:
            if shape(job) != shape(after[job.name]):
                return f"{job.name} tasks with other needs go into another Slurm job"
        return ""

    def rules(self, config: LaunchConfig) -> dict[str, Any]:
        return {
            "allocation": config.slurm.allocation,
            "notice_before": config.checkpoint_before or config.kill_grace + LIMIT_MARGIN,
            "notice_grace": config.checkpoint_before,
        }

    def new_decider(self, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
        from .engine import SlurmEngine

        return SlurmEngine(jitter, **rules)

    def new_setup(self, context: Context) -> Setup:
        from .setup import SlurmSetup

        return SlurmSetup(context)


PLUGIN = SlurmPlugin()
