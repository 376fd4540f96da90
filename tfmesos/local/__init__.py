"""The embedded Mesos: a master and its agents in this process, for runs without a cluster."""

from .cluster import AgentConfig, LocalMesos
from .entities import Timing
from .machine import amounts, installed_memory, this_machine

__all__ = ["AgentConfig", "LocalMesos", "Timing", "amounts", "installed_memory", "this_machine"]
