"""What a Kubernetes would be sent, for ``tfrun --dry-run=kubernetes``."""

from __future__ import annotations

from ..config.launch import LaunchConfig
from ..config.secret import Secret
from ..json_types import Json
from ..kubernetes import objects
from ..kubernetes.attempts import Attempts
from ..kubernetes.objects import Owner
from ..launcher.links import payload
from ..launcher.links.messages import stub_settings

RUN = "tfmesos-run"  # in place of the id
SECRET = "(256 random bits)"


def pods(config: LaunchConfig, hostname: str) -> Json:
    """The objects of a run as a List; ids and secrets are made up."""
    owner, attempts = Owner(RUN, "(of the owner)"), Attempts()
    new = [attempts.add(f"{RUN}-{t.job.name}-{t.index}-1", t) for t in config.tasks]
    name = objects.pod_name(owner, "secret-1")
    proofs = {pod.name: Secret(SECRET) for pod in new}
    made = [objects.owner(config, owner.name, hostname)]
    made.append(objects.secret(config, owner, name, payload.listening_stub(), proofs))
    for pod in new:
        settings = stub_settings(RUN, "LAUNCHER:PORT", pod.task_id, None)
        made.append(objects.pod(config, owner, pod, settings, name))
    return {"apiVersion": "v1", "kind": "List", "items": made}
