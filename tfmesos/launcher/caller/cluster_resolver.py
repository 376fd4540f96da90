"""The cluster as ``tf.distribute`` wants it, with this process as its coordinator."""

from __future__ import annotations

import socket
from typing import Any

from ...acceptor import family_of
from ...node.task.port import reserve
from ...shared.address import join_address


class OwnAddress:
    """The address of this process that the tasks can reach, held until TensorFlow listens there."""

    def __init__(self) -> None:
        self._reservation: socket.socket | None = None

    def on(self, host: str) -> str:
        if self._reservation is None:
            self._reservation = reserve(family_of(host))
        return join_address(host, self._reservation.getsockname()[1])

    def close(self) -> None:
        if self._reservation is not None:
            self._reservation.close()


def resolver(cluster: dict[str, dict[int, str]], own_address: str, protocol: str) -> Any:
    """TensorFlow would call us ``localhost``; tasks on other machines need our real address."""
    import tensorflow as tf

    spec = tf.train.ClusterSpec({"chief": {0: own_address}, **cluster})
    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        spec, task_type="chief", task_id=0, rpc_layer=protocol
    )
