"""The embedded Mesos: a master and its agents in this process, for runs without a cluster."""

from .cluster import AgentConfig, LocalMesos
from .machine import this_machine
from .records import Timing

__all__ = ["AgentConfig", "LocalMesos", "Timing", "this_machine"]
