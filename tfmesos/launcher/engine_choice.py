"""Which engine a run uses: the scheme of its master tells. Only that one is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..config.launch_config import LaunchConfig
from ..engines.api import Context, EngineDecider, Setup
from ..engines.kinds import KUBERNETES, LOCAL, MESOS, SLURM, kind_of
from .links import payload

LIMIT_MARGIN = 10.0  # seconds in which tasks that were stopped have surely ended


def rules_of(config: LaunchConfig) -> dict[str, Any]:
    """What the decider of the engine is told besides the jobs."""
    if kind_of(config).name == SLURM:
        return {
            "allocation": config.slurm.allocation,
            "notice_before": config.checkpoint_before or config.kill_grace + LIMIT_MARGIN,
            "notice_grace": config.checkpoint_before,
        }
    if kind_of(config).name != KUBERNETES:
        return {}
    images = tuple((job.name, config.image_of(job) or "") for job in config.jobs)
    has_queue = config.pods.queue is not None
    return {"hold": config.pods.gang_hold, "images": images, "has_queue": has_queue}


def with_engine_values(config: LaunchConfig) -> LaunchConfig:
    """With what only its engine can read in the settings."""
    if kind_of(config).name != KUBERNETES:
        return config
    from ..engines.kubernetes.pods.resources import sized

    return sized(config)


def can_be_followed(config: LaunchConfig) -> bool:
    """Can another launcher be where this one was? Nobody has the address of a pod that is gone."""
    if kind_of(config).name != KUBERNETES or config.resumes or config.advertise is not None:
        return True
    from ..engines.kubernetes.api.kubeconfig import is_inside

    return not is_inside()


def check(config: LaunchConfig) -> None:
    """SpecError if its engine cannot run these jobs."""
    if kind_of(config).name == KUBERNETES:
        from ..engines.kubernetes.refusals import check  # is needed by no other run

        check(config)
    elif kind_of(config).name == SLURM:
        from ..engines.slurm.refusals import check as check_slurm

        check_slurm(config)


def new_decider(kind: str, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
    if kind == LOCAL:
        from ..engines.local.engine import LocalEngine

        return LocalEngine(jitter, **rules)
    if kind == MESOS:
        from ..engines.mesos.engine import MesosEngine

        return MesosEngine(jitter, **rules)
    if kind == KUBERNETES:
        from ..engines.kubernetes.engine import KubernetesEngine

        return KubernetesEngine(jitter, **rules)
    if kind == SLURM:
        from ..engines.slurm.engine import SlurmEngine

        return SlurmEngine(jitter, **rules)
    raise ValueError(f"no engine is called {kind!r}")


def new_setup(context: Context) -> Setup:
    config = context.config
    kind = kind_of(config).name
    if kind == LOCAL:
        from ..engines.local.setup import LocalSetup

        return LocalSetup(context, lambda job: payload.command(config.python_of(job)))
    if kind == KUBERNETES:
        from ..engines.kubernetes.setup import KubernetesSetup

        return KubernetesSetup(context)
    if kind == SLURM:
        from ..engines.slurm.setup import SlurmSetup

        return SlurmSetup(context)
    from ..engines.mesos.setup import MesosSetup

    return MesosSetup(context)
