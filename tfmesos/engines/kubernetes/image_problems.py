"""Explains why a container cannot be started: most often its image cannot be pulled."""

from __future__ import annotations

from .pod_ends import with_detail
from .pod_status import PodSeen

# How many seconds each may last: another try of the kubelet may help, or somebody may make what is
# missing.
HOPELESS_AFTER = {
    "InvalidImageName": 0.0,
    "ErrImageNeverPull": 0.0,
    "ErrImagePull": 25.0,
    "ImagePullBackOff": 25.0,
    "ImageInspectError": 25.0,
    "RegistryUnavailable": 25.0,
    "CreateContainerConfigError": 15.0,
    "CreateContainerError": 15.0,
    "RunContainerError": 15.0,
}

SAYS_LITTLE = ("ImagePullBackOff",)  # the reason was reported before it


def trouble(pod: PodSeen, image: str) -> str:
    """Why the container of *pod* cannot be started just now; empty if nothing is wrong."""
    if pod.waiting not in HOPELESS_AFTER or pod.has_ended:
        return ""
    if "Image" in pod.waiting or pod.waiting == "RegistryUnavailable":
        return with_detail(f"cannot pull image {image} ({pod.waiting})", pod)
    return with_detail(f"cannot be started ({pod.waiting})", pod)
