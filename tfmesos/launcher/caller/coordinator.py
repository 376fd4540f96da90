"""Have TensorFlow in this process give up a cluster while its servers still answer.

A ClusterCoordinator connects to a lost worker again and again, and its destructor waits for the
thread that does; TensorFlow tells every server of each function that is gone. Both end here:
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
    """Has TensorFlow given up the servers at *addresses*, after at most *within* seconds?

    On a thread of its own: where nobody answers any more TensorFlow may wait forever.
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
    """What a coordinator's destructor finds in place of its threads."""

    def stop(self) -> None:
        pass


def _coordinators() -> list[Any]:
    """All in this process: it can be in one cluster only."""
    kind = getattr(sys.modules.get(_COORDINATORS), "ClusterCoordinator", None)
    return [one for one in gc.get_objects() if type(one) is kind] if kind else []


def _alone(server: Any) -> Any:
    """The same task of a cluster that has no other job."""
    alone = type(server)()
    alone.CopyFrom(server)
    alone.ClearField("cluster_device_filters")
    del alone.cluster.job[:]
    alone.cluster.job.extend(job for job in server.cluster.job if job.name == server.job_name)
    return alone
