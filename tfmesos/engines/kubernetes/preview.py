"""What an API server would be sent, for ``tfrun --dry-run=kubernetes``."""

from __future__ import annotations

from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...errors import TFMesosError
from ...json_types import Json
from ...launcher.links import payload
from ...launcher.links.messages import stub_settings
from ...shared.address import join_address
from . import objects
from .api.kubeconfig import access
from .attempts import Attempts
from .objects import Owner
from .pods.groups import PodGroup
from .to_runners import LINK_PORT

RUN = "tfmesos-run"  # in place of the id
SECRET = "(256 random bits)"


def preview(config: LaunchConfig, hostname: str) -> Json:
    """The objects of a run as a List; ids and secrets are made up."""
    owner, attempts = Owner(RUN, "(of the owner)"), Attempts()
    new = [attempts.add(f"{RUN}-{t.job.name}-{t.index}-1", t) for t in config.tasks]
    name = objects.pod_name(owner, "secret-1")
    proofs = {pod.name: Secret(SECRET) for pod in new}
    address = _launcher_address(config)
    links, stub = (
        (objects.DIAL, payload.stub())
        if address
        else (objects.PORT_FORWARD, payload.listening_stub())
    )
    made = [objects.owner(config, owner.name, hostname, links)]
    made.append(objects.secret(config, owner, name, stub, proofs))
    group = PodGroup.of(config.pods.queue, RUN, 1, len(new))
    for pod in new:
        settings = stub_settings(RUN, address or f":{LINK_PORT}", pod.task_id, None)
        made.append(objects.pod(config, owner, pod, settings, name, group=group))
    return {"apiVersion": "v1", "kind": "List", "items": made}


def _launcher_address(config: LaunchConfig) -> str:
    """Where the tasks find the launcher; empty if it connects to them through the API server."""
    if config.advertise is not None:
        return join_address(*config.advertise)
    try:
        is_in_pod = not access(config.master).context
    except TFMesosError:  # there need not be a cluster yet
        is_in_pod = False
    return "LAUNCHER:PORT" if is_in_pod else ""
