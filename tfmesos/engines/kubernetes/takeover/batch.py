"""Pods that share a Secret, and everything that their objects are made from."""

from __future__ import annotations

from collections.abc import Mapping

from ....config.launch_config import LaunchConfig
from ....config.secret import Secret
from ....json_types import Json
from ....record import Record
from .. import objects
from ..actions import NewPod
from ..objects import Owner
from ..pods.groups import PodGroup


class Batch(Record):
    secret: str  # the name of the object
    told: Mapping[str, tuple[str, Secret]]  # pod -> the settings for its stub, and its secret
    local: frozenset[str]  # pods that listen at their loopback, where only we find them
    config: LaunchConfig
    avoid: tuple[str, ...]
    group: PodGroup | None

    def secret_object(self, owner: Owner, stub: str) -> Json:
        proofs = {pod: secret for pod, (_, secret) in self.told.items()}
        return objects.secret(self.config, owner, self.secret, stub, proofs)

    def pod(self, owner: Owner, pod: NewPod) -> Json:
        settings, _ = self.told[pod.name]
        return objects.pod(
            self.config,
            owner,
            pod,
            settings,
            self.secret,
            self.avoid,
            is_local=pod.name in self.local,
            group=self.group,
        )
