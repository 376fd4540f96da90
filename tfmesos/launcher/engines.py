"""Which engine a run uses: the scheme of its master tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..config.launch import LaunchConfig
from .engine import Decider, Say, Setup, UnlessStopped

MESOS = "mesos"


def kind_of(config: LaunchConfig) -> str:
    return MESOS


def rules_of(config: LaunchConfig) -> dict[str, Any]:
    """What the decider of the engine is told besides the jobs."""
    return {}


def new_decider(kind: str, jitter: Callable[[], float], rules: Mapping[str, Any]) -> Decider:
    if kind != MESOS:
        raise ValueError(f"no engine is called {kind!r}")
    from ..mesos.engine import MesosEngine

    return MesosEngine(jitter, **rules)


def new_setup(
    config: LaunchConfig,
    run_id: str,
    say: Say,
    named: Callable[[str], str],
    unless_stopped: UnlessStopped,
) -> Setup:
    """*named* tells how the user calls a setting."""
    from .mesos_setup import MesosSetup

    return MesosSetup(config, run_id, say, named, unless_stopped)
