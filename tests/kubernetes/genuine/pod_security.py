"""Namespaces that enforce the Pod Security Standard ``restricted``, on servers of any age.

Servers since 1.25 do so for a label of the namespace. Older ones ask a webhook of ours, which says
no to the same pods in the same words.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.mesos.genuine.cluster import wait_until
from tfmesos.engines.own_address import local_address_towards

from .api import Refused
from .certificates import Certificates, encoded
from .namespace import Namespace

LABEL = "pod-security.kubernetes.io/enforce"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
VOLUMES = (
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim"),
    *("projected", "secret"),
)


@contextmanager
def restricted(kube: Namespace, directory: Path) -> Iterator[None]:
    """*kube* enforces it while the block runs."""
    kube.admin.patch(
        f"/api/v1/namespaces/{kube.name}", {"metadata": {"labels": {LABEL: "restricted"}}}
    )
    if kube.admin.minor_version >= 25:
        yield
        return
    with _webhook(kube, directory) as hook:
        kube.admin.post(HOOKS, hook)
        try:
            wait_until("the server asks the webhook", lambda: _refuses(kube))
            yield
        finally:
            kube.admin.delete(f"{HOOKS}/{kube.name}")


def _refuses(kube: Namespace) -> bool:
    container = {"name": "any", "image": "any"}
    try:
        path = f"{kube.path}/pods?dryRun=All"
        kube.admin.post(path, {"metadata": {"name": "any"}, "spec": {"containers": [container]}})
    except Refused as error:
        return "PodSecurity" in str(error)
    return False


@contextmanager
def _webhook(kube: Namespace, directory: Path) -> Iterator[dict[str, Any]]:
    host = local_address_towards(f"https://{kube.admin.address}", 443)
    issued = Certificates(directory / "webhook")
    issued.issue("webhook", "/CN=webhook", f"IP:{host}")
    server = ThreadingHTTPServer((host, 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(issued.file("webhook"), issued.key("webhook"))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        url = f"https://{host}:{server.server_address[1]}/"
        yield _configuration(kube.name, {"url": url, "caBundle": encoded(issued.file("ca"))})
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _configuration(namespace: str, where: dict[str, str]) -> dict[str, Any]:
    pods = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["pods"],
        "operations": ["CREATE"],
    }
    hook = {
        "name": f"{namespace}.pod-security.tests",
        "clientConfig": where,
        "rules": [pods],
        "namespaceSelector": {"matchLabels": {LABEL: "restricted"}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
    }
    return {"metadata": {"name": namespace}, "webhooks": [hook]}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        pod, name = review["request"]["object"], review["request"].get("name", "")
        found = ", ".join(violations(pod["spec"]))
        answer: dict[str, Any] = {"uid": review["request"]["uid"], "allowed": not found}
        if found:
            words = f'pods "{name}" is forbidden: violates PodSecurity "restricted:latest": {found}'
            answer["status"] = {"code": 403, "reason": "Forbidden", "message": words}
        body = json.dumps({**review, "request": None, "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def violations(spec: dict[str, Any]) -> Iterator[str]:
    """In the order and the words of a genuine 1.35."""
    own = spec.get("securityContext") or {}
    all_ = [*spec.get("containers", []), *spec.get("initContainers", [])]
    said = {it["name"]: it.get("securityContext") or {} for it in all_}

    def lacking(is_good: Any) -> str:
        bad = [f'"{name}"' for name, context in said.items() if not is_good(context)]
        return f"container{'s' if len(bad) > 1 else ''} {', '.join(bad)} must set" if bad else ""

    if found := lacking(lambda it: it.get("allowPrivilegeEscalation") is False):
        words = "securityContext.allowPrivilegeEscalation=false"
        yield f"allowPrivilegeEscalation != false ({found} {words})"
    if found := lacking(lambda it: "ALL" in (it.get("capabilities") or {}).get("drop", ())):
        yield f'unrestricted capabilities ({found} securityContext.capabilities.drop=["ALL"])'
    for volume in spec.get("volumes", []):
        for kind in volume.keys() - {"name", *VOLUMES}:
            detail = f'volume "{volume["name"]}" uses restricted volume type "{kind}"'
            yield f"restricted volume types ({detail})"
    if found := lacking(lambda it: {**own, **it}.get("runAsNonRoot") is True):
        yield f"runAsNonRoot != true (pod or {found} securityContext.runAsNonRoot=true)"
    if not all({**own, **it}.get("runAsUser", 1) for it in said.values()):
        yield "runAsUser=0 (pod must not set runAsUser=0)"
    if found := lacking(
        lambda it: (
            ({**own, **it}.get("seccompProfile") or {}).get("type")
            in ("RuntimeDefault", "Localhost")
        )
    ):
        words = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
        yield f"seccompProfile (pod or {found} {words})"
