"""A namespace for one test, and a user who may do there what tfrun needs, and nothing else."""

from __future__ import annotations

import json
import secrets
import subprocess
from pathlib import Path
from typing import Any

from .api import Api, Refused

RBAC = "rbac.authorization.k8s.io"
USER = "restricted"
# The minimal Role of docs/kubernetes.rst.
RIGHTS = {
    "pods": ["create", "delete", "list", "watch"],
    "pods/log": ["get"],
    "pods/portforward": ["create", "get"],
    "secrets": ["create"],
    "configmaps": ["create", "delete", "list", "patch"],
}


def rules(rights: dict[str, list[str]]) -> list[dict[str, Any]]:
    return [{"apiGroups": [""], "resources": [it], "verbs": rights[it]} for it in rights]


class Namespace:
    """*kubeconfig* holds the restricted user, in this namespace."""

    def __init__(self, admin_config: Path, directory: Path) -> None:
        self.admin_config = admin_config
        self.admin = Api(admin_config, "admin")
        self.name = f"test-{secrets.token_hex(4)}"
        self.path = f"/api/v1/namespaces/{self.name}"
        self.rbac = f"/apis/{RBAC}/v1/namespaces/{self.name}"
        self.admin.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        wait_for_account(self.admin, self.name)
        self._add_user(rules(RIGHTS))
        self.kubeconfig = directory / f"{self.name}.kubeconfig"
        self._write_kubeconfig(json.loads(admin_config.read_text()))
        self.user = Api(self.kubeconfig, USER)

    def _add_user(self, allowed: list[dict[str, Any]]) -> None:
        """A service account, as a program inside of a cluster would have one."""
        named = {"metadata": {"name": USER}}
        subject = {"kind": "ServiceAccount", "name": USER, "namespace": self.name}
        role = {"apiGroup": RBAC, "kind": "Role", "name": USER}
        self.admin.post(f"{self.path}/serviceaccounts", named)
        self.admin.post(f"{self.rbac}/roles", {**named, "rules": allowed})
        self.admin.post(
            f"{self.rbac}/rolebindings", {**named, "roleRef": role, "subjects": [subject]}
        )

    def _write_kubeconfig(self, config: dict[str, Any]) -> None:
        path, asked = f"{self.path}/serviceaccounts/{USER}/token", {"expirationSeconds": 86400}
        token = self.admin.post(path, {"spec": asked})["status"]["token"]
        (cluster,) = config["clusters"]
        context = {"cluster": cluster["name"], "user": USER, "namespace": self.name}
        config |= {
            "users": [{"name": USER, "user": {"token": token}}],
            "contexts": [{"name": USER, "context": context}],
            "current-context": USER,
        }
        self.kubeconfig.write_text(json.dumps(config))

    def allow(self, rights: dict[str, list[str]]) -> None:
        """The user has these rights from now on, and no other."""
        self.admin.patch(f"{self.rbac}/roles/{USER}", {"rules": rules(rights)})

    def kubectl(self, *words: object, **options: Any) -> subprocess.CompletedProcess[str]:
        """As the administrator, in this namespace."""
        where = ("--kubeconfig", self.admin_config, "--namespace", self.name)
        command = ["kubectl", *map(str, (*where, *words))]
        return subprocess.run(command, capture_output=True, text=True, **options)

    def pods(self) -> list[dict[str, Any]]:
        """Those that nobody has deleted; a kubelet takes its time to have one gone."""
        return self._living("pods")

    def left(self) -> list[str]:
        """The pods, Secrets and ConfigMaps that somebody has made and nobody deleted."""
        found = []
        for kind in ("pods", "secrets", "configmaps"):
            for it in self._living(kind):
                if not self._is_of_the_cluster(it):
                    found.append(f"{kind}/{it['metadata']['name']}")
        return found

    def _living(self, kind: str) -> list[dict[str, Any]]:
        items = self.admin.items(f"{self.path}/{kind}")
        return [it for it in items if not it["metadata"].get("deletionTimestamp")]

    @staticmethod
    def _is_of_the_cluster(it: dict[str, Any]) -> bool:
        """Each namespace has these."""
        own = it["metadata"]["name"] == "kube-root-ca.crt"
        return own or it.get("type") == "kubernetes.io/service-account-token"

    def delete(self) -> None:
        """Nobody waits until it is gone."""
        try:
            for pod in self.admin.items(f"{self.path}/pods"):
                self.admin.delete(
                    f"{self.path}/pods/{pod['metadata']['name']}?gracePeriodSeconds=0"
                )
            self.admin.delete(self.path)
        except Refused as error:
            if error.status not in (404, 409):
                raise


def wait_for_account(admin: Api, namespace: str) -> None:
    """Without this service account, which a controller makes, there can be no pod."""
    accounts = f"/api/v1/namespaces/{namespace}/serviceaccounts"
    next(admin.watch(f"{accounts}?fieldSelector=metadata.name=default"))
