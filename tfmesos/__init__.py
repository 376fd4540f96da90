"""Run distributed TensorFlow on this machine, Kubernetes, Slurm or Mesos.

``with cluster(jobs) as c:`` here, ``tfrun`` on the command line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .version import __version__

if TYPE_CHECKING:
    from .config.job import Job as Job
    from .config.settings import Settings as Settings
    from .core.outcome import Outcome as Outcome
    from .errors import EngineError as EngineError
    from .errors import Hung as Hung
    from .errors import Interrupted as Interrupted
    from .errors import MasterError as MasterError
    from .errors import ResourcesError as ResourcesError
    from .errors import SpecError as SpecError
    from .errors import StartTimeout as StartTimeout
    from .errors import TaskFailed as TaskFailed
    from .errors import TFMesosError as TFMesosError
    from .scheduler import TFMesosScheduler as TFMesosScheduler
    from .scheduler import cluster as cluster

# Public name -> the module that has it.
_MODULES = {
    "cluster": "scheduler",
    "TFMesosScheduler": "scheduler",
    "Job": "config.job",
    "Settings": "config.settings",
    "Outcome": "core.outcome",
    "EngineError": "errors",
    "Hung": "errors",
    "Interrupted": "errors",
    "MasterError": "errors",
    "ResourcesError": "errors",
    "SpecError": "errors",
    "StartTimeout": "errors",
    "TaskFailed": "errors",
    "TFMesosError": "errors",
}

__all__ = ["__version__", *_MODULES]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> object:
    """Import a public name when it is first used: ``import tfmesos`` itself costs nothing."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
