"""Which engine a run uses: the scheme of its master tells. Only that one is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...config.launch import LaunchConfig
from .engine import Decider, Say, Setup, UnlessStopped

MESOS, KUBERNETES = "mesos", "kubernetes"


def kind_of(config: LaunchConfig) -> str:
    return KUBERNETES if config.is_kubernetes else MESOS


def rules_of(config: LaunchConfig) -> dict[str, Any]:
    """What the decider of the engine is told besides the jobs."""
    if not config.is_kubernetes:
        return {}
    images = tuple((job.name, config.image_of(job) or "") for job in config.jobs)
    return {"hold": config.pods.gang_hold, "images": images}


def new_decider(kind: str, jitter: Callable[[], float], rules: Mapping[str, Any]) -> Decider:
    if kind == MESOS:
        from ...mesos.engine import MesosEngine

        return MesosEngine(jitter, **rules)
    if kind == KUBERNETES:
        from ...kubernetes.engine import KubernetesEngine

        return KubernetesEngine(jitter, **rules)
    raise ValueError(f"no engine is called {kind!r}")


def new_setup(
    config: LaunchConfig,
    run_id: str,
    say: Say,
    named: Callable[[str], str],
    unless_stopped: UnlessStopped,
) -> Setup:
    """*named* tells how the user calls a setting."""
    if config.is_kubernetes:
        from .kubernetes import KubernetesSetup

        return KubernetesSetup(config, run_id, say, named, unless_stopped)
    from .mesos import MesosSetup

    return MesosSetup(config, run_id, say, named, unless_stopped)
