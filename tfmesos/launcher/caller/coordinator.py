"""Makes TensorFlow in this process give up a cluster while its servers still answer.

A ClusterCoordinator connects to a lost worker again and again, and its destructor waits for the
thread that does; TensorFlow reports each deleted function to every server. Both end here:
afterwards nothing in this process wants to talk to the servers.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Collection
from typing import Any

_COORDINATORS = "tensorflow.python.distribute.coordinator.cluster_coordinator"
_CONTEXT = "tensorflow.python.eager.context"


def give_up(addresses: Collection[str], within: float) -> bool:
    """Make TensorFlow give up the servers at *addresses*; False if *within* seconds pass first.

    This runs on its own thread: if nobody answers any more, TensorFlow may wait forever.
    """
    context = sys.modules.get(_CONTEXT)
    server = context.get_server_def() if context else None
    if server is None or not _has_any(server.cluster, addresses):
        return True
    worker = threading.Thread(target=_give_up, args=[context, server], daemon=True)
    worker.start()
    worker.join(within)
    return not worker.is_alive()


def _has_any(cluster: Any, addresses: Collection[str]) -> bool:
    return any(address in addresses for job in cluster.job for address in job.tasks.values())


def _give_up(context: Any, server: Any) -> None:
    for coordinator in _coordinators():
        cluster = coordinator._cluster
        coordinator._cluster = _Stopped()
        cluster.stop()
    context.update_server_def(_alone(server))


class _Stopped:
    """Replaces the threads of a coordinator for its destructor."""

    def stop(self) -> None:
        pass


def _coordinators() -> list[Any]:
    """All coordinators of this process, which can be in only one cluster."""
    kind = getattr(sys.modules.get(_COORDINATORS), "ClusterCoordinator", None)
    return [one for one in gc.get_objects() if type(one) is kind] if kind else []


def _alone(server: Any) -> Any:
    """The same task in a cluster without any other job."""
    alone = type(server)()
    alone.CopyFrom(server)
    alone.ClearField("cluster_device_filters")
    del alone.cluster.job[:]
    alone.cluster.job.extend(job for job in server.cluster.job if job.name == server.job_name)
    return alone
