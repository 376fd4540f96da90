"""The plugin of Kubernetes, by which the launcher finds this engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...config.launch_config import LaunchConfig
from ..api import Context, EngineDecider, Plugin, Setup

_BY_KUBECONFIG = "the kubeconfig says who you are"
_INSTEAD = {
    "containerizer_type": "the nodes choose how to run images",
    "role": "name a namespace, as in k8s:///NAMESPACE",
    "principal": _BY_KUBECONFIG,
    "secret_file": _BY_KUBECONFIG,
    "token_file": _BY_KUBECONFIG,
    "ca_file": _BY_KUBECONFIG,
    "cert_file": _BY_KUBECONFIG,
    "key_file": _BY_KUBECONFIG,
}


class KubernetesPlugin(Plugin):
    instead = _INSTEAD

    def completed(self, config: LaunchConfig, environ: Mapping[str, str]) -> LaunchConfig:
        from .pods.resources import sized

        return sized(config)

    def can_be_followed(self, config: LaunchConfig) -> bool:
        """No other launcher can have the address of a pod that is gone."""
        if config.resumes or config.advertise is not None:
            return True
        from .api.kubeconfig import is_inside

        return not is_inside()

    def check(self, config: LaunchConfig) -> None:
        from .refusals import check

        check(config)

    def why_readdressed(self, old: LaunchConfig, new: LaunchConfig) -> str:
        return "a restarted pod has another address"

    def rules(self, config: LaunchConfig) -> dict[str, Any]:
        images = tuple((job.name, config.image_of(job) or "") for job in config.jobs)
        has_queue = config.pods.queue is not None
        return {"hold": config.pods.gang_hold, "images": images, "has_queue": has_queue}

    def new_decider(self, jitter: Callable[[], float], rules: Mapping[str, Any]) -> EngineDecider:
        from .engine import KubernetesEngine

        return KubernetesEngine(jitter, **rules)

    def new_setup(self, context: Context) -> Setup:
        from .setup import KubernetesSetup

        return KubernetesSetup(context)


PLUGIN = KubernetesPlugin()
