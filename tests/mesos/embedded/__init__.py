"""The embedded Mesos: a master and its agents in one process, a strict partner for our engine.

It shares no decision with the rest: a partner that shared our mistakes would hide them. ``python -m
tests.mesos.embedded --port 5050`` runs it alone. Its own tests are in ``tests``.
"""

from .cluster import AgentConfig, LocalMesos
from .entities import Timing

__all__ = ["AgentConfig", "LocalMesos", "Timing"]
