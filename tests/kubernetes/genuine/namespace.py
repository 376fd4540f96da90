"""A namespace for one test, and a user who may do there what tfrun needs, and nothing else."""

from __future__ import annotations

import json
import secrets
import subprocess
import textwrap
from pathlib import Path
from typing import Any

import yaml

from tests.mesos.genuine.cluster import wait_until
from tfmesos.engines.kubernetes.permissions.rights import rules_review

from .api import Api, Refused

RBAC = "rbac.authorization.k8s.io"
USER = "restricted"
PAGE = Path(__file__).parents[3] / "docs" / "kubernetes.rst"


def documented(name: str) -> str:
    """A block of the documentation, as it is written there."""
    text = PAGE.read_text().partition(f".. {name} begins")[2].partition(f".. {name} ends")[0]
    return textwrap.dedent(text.partition(".. code::")[2].partition("\n")[2]).strip()


def documented_role() -> dict[str, Any]:
    """The Role of the documentation, as it is written there."""
    return yaml.safe_load(documented("role"))


RIGHTS: dict[str, list[str]] = {
    resource: rule["verbs"] for rule in documented_role()["rules"] for resource in rule["resources"]
}


def rules(rights: dict[str, list[str]]) -> list[dict[str, Any]]:
    given = [(resource, verbs) for resource, verbs in rights.items() if verbs]
    return [{"apiGroups": [""], "resources": [it], "verbs": verbs} for it, verbs in given]


class Namespace:
    """*kubeconfig* holds the restricted user, in this namespace."""

    def __init__(self, admin_config: Path, directory: Path) -> None:
        self.admin_config = admin_config
        self.admin = Api(admin_config, "admin")
        self.name = f"test-{secrets.token_hex(4)}"
        self.path = f"/api/v1/namespaces/{self.name}"
        self.rbac = f"/apis/{RBAC}/v1/namespaces/{self.name}"
        self._everywhere: list[tuple[str, str]] = []  # kind and name of what is in no namespace
        self.admin.post("/api/v1/namespaces", {"metadata": {"name": self.name}})
        wait_for_account(self.admin, self.name)
        self._add_user(documented_role())
        self.kubeconfig = directory / f"{self.name}.kubeconfig"
        self._write_kubeconfig(json.loads(admin_config.read_text()))
        self.user = Api(self.kubeconfig, USER)
        self._wait_until_known(RIGHTS)

    def _add_user(self, role: dict[str, Any]) -> None:
        """A service account, as a program inside of a cluster would have one."""
        named = {"metadata": {"name": USER}}
        subject = {"kind": "ServiceAccount", "name": USER, "namespace": self.name}
        self.role = role["metadata"]["name"]
        reference = {"apiGroup": RBAC, "kind": "Role", "name": self.role}
        binding = {**named, "roleRef": reference, "subjects": [subject]}
        self.admin.post(f"{self.path}/serviceaccounts", named)
        self.admin.post(f"{self.rbac}/roles", role)
        self.admin.post(f"{self.rbac}/rolebindings", binding)

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
        self.admin.patch(f"{self.rbac}/roles/{self.role}", {"rules": rules(rights)})
        self._wait_until_known(rights)

    def allow_to_grow(self) -> None:
        """The user may list all nodes and pods until the namespace is deleted."""
        text = documented("room").replace("tfrun", self.name)
        text = text.replace("--user alice", f"--serviceaccount {self.name}:{USER}")
        for _, *words in map(str.split, text.splitlines()):
            made = self.kubectl(*words)
            assert made.returncode == 0, made.stderr
            self._everywhere.append((words[1], words[2]))

    def _wait_until_known(self, rights: dict[str, list[str]]) -> None:
        """The server answers before those of its parts that decide have heard of a role."""
        expected = {(resource, verb) for resource, verbs in rights.items() for verb in verbs}
        wait_until("the server knows the role", lambda: self._granted() == expected)

    def _granted(self) -> set[tuple[str, str]]:
        path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
        told = self.user.post(path, rules_review(self.name))["status"]["resourceRules"]
        core = [rule for rule in told if rule["apiGroups"] == [""]]
        return {(it, verb) for rule in core for it in rule["resources"] for verb in rule["verbs"]}

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
        for kind, name in self._everywhere:
            self.kubectl("delete", kind, name)
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
