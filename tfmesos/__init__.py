"""Run distributed TensorFlow on Apache Mesos, or on this machine.

``with cluster(jobs) as c:`` here, ``tfrun`` on the command line.
"""

from __future__ import annotations

from .version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .config.job import Job
    from .core.outcome import Outcome
    from .errors import (
        MasterError,
        ResourcesError,
        SpecError,
        StartTimeout,
        TaskFailed,
        TFMesosError,
    )
    from .scheduler import TFMesosScheduler, cluster

_HOMES = {
    "cluster": "scheduler",
    "TFMesosScheduler": "scheduler",
    "Job": "config.job",
    "Outcome": "core.outcome",
    "MasterError": "errors",
    "ResourcesError": "errors",
    "SpecError": "errors",
    "StartTimeout": "errors",
    "TaskFailed": "errors",
    "TFMesosError": "errors",
}

__all__ = [
    "Job",
    "MasterError",
    "Outcome",
    "ResourcesError",
    "SpecError",
    "StartTimeout",
    "TFMesosError",
    "TFMesosScheduler",
    "TaskFailed",
    "__version__",
    "cluster",
]


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: ``import tfmesos`` itself costs nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
