"""All ways to show a genuine server who we are."""

from __future__ import annotations

import asyncio
import base64
import json
import shlex
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from tests.bounds import HANG
from tests.commands import environment, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.namespaces import COAST, island
from tests.proxies import tinyproxy
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.api.kubeconfig import access

from .namespace import RIGHTS, documented
from .pods import SMALL, on_kubernetes


def listed(found):
    """What there is of pods, for whom *found* lets in."""

    async def main():
        async with asyncio.timeout(HANG), Client(found) as client:
            items, _ = await client.list("pods")
            return items

    return asyncio.run(main())


def changed(kube, change):
    """The kubeconfig of the restricted user, after *change* of its cluster and its user."""
    config = json.loads(kube.kubeconfig.read_text())
    change(config["clusters"][0]["cluster"], config["users"][0]["user"])
    kube.kubeconfig.write_text(json.dumps(config))
    return access("k8s://")


def test_a_plugin_gives_the_token(kube, tmp_path):
    def change(cluster, user):
        status = {"token": user.pop("token")}
        version = "client.authentication.k8s.io/v1"
        said = {"apiVersion": version, "kind": "ExecCredential", "status": status}
        script = tmp_path / "login"
        script.write_text(f"#!{sys.executable}\nprint({json.dumps(said)!r})\n")
        script.chmod(0o755)
        user["exec"] = {"apiVersion": version, "command": "./login", "interactiveMode": "Never"}

    assert listed(changed(kube, change)) == []


def test_a_run_goes_through_a_proxy(kube, tmp_path):
    """Its questions, its watch and its port-forwards."""
    with tinyproxy(tmp_path) as proxy:
        found = changed(kube, lambda cluster, user: cluster.update({"proxy-url": proxy.url}))
        done = tfrun(*on_kubernetes("-w", 2, *SMALL), "--", "echo up")
        assert (done.returncode, done.stdout.count("up")) == (0, 2), done.stderr
        assert set(proxy.tunnels()) == {urlsplit(found.server).netloc}
        assert len(proxy.tunnels()) >= 4


def test_a_launcher_that_reaches_nothing_but_a_proxy_runs_its_tasks(kube, tmp_path):
    with island() as inside, tinyproxy(tmp_path, host=COAST) as proxy:

        def run(*flags, **variables):
            words = on_kubernetes("-w", 2, *SMALL, *flags, "--", "echo up")
            command = [*inside, sys.executable, "-m", "tfmesos", *map(str, words)]
            env = environment(**variables)
            return subprocess.run(command, env=env, capture_output=True, text=True, timeout=HANG)

        alone = run("--start-timeout", 10)
        assert alone.returncode == 69 and "Network is unreachable" in alone.stderr
        done = run(HTTPS_PROXY=proxy.url)
        assert (done.returncode, done.stdout.count("up")) == (0, 2), done.stderr
        assert set(proxy.tunnels()) == {kube.user.address}


def test_who_may_act_as_somebody_else_does(kube):
    jane = {"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}
    rule = {"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    role, binding = f"{rbac}/clusterroles", f"{rbac}/clusterrolebindings"
    account = {"kind": "ServiceAccount", "name": "restricted", "namespace": kube.name}
    reference = {"kind": "ClusterRole", "name": kube.name, "apiGroup": jane["apiGroup"]}
    named = {"metadata": {"name": kube.name}}
    kube.admin.post(role, {**named, "rules": [rule]})
    kube.admin.post(binding, {**named, "roleRef": reference, "subjects": [account]})
    try:
        found = changed(kube, lambda cluster, user: user.update({"as": "jane"}))
        with pytest.raises(ApiError, match='User "jane" cannot list'):
            until_known(lambda: listed(found))
    finally:
        kube.admin.delete(f"{binding}/{kube.name}")
        kube.admin.delete(f"{role}/{kube.name}")


def until_known(ask):
    """The server needs a moment to learn of a new role."""
    end = time.monotonic() + HANG
    while True:
        try:
            return ask()
        except ApiError as error:
            if "cannot impersonate" not in str(error) or time.monotonic() > end:
                raise
        time.sleep(0.1)


def test_files_hold_the_token_and_the_authority(kube, tmp_path):
    def change(cluster, user):
        (tmp_path / "token").write_text(user.pop("token"))
        authority = base64.b64decode(cluster.pop("certificate-authority-data"))
        (tmp_path / "ca.crt").write_bytes(authority)
        user["tokenFile"], cluster["certificate-authority"] = "token", "ca.crt"

    assert listed(changed(kube, change)) == []


def test_a_client_certificate_lets_the_administrator_in(kube, admin_config):
    where = {"KUBECONFIG": str(admin_config)}
    assert listed(access(f"k8s:///{kube.name}", where)) == []


def test_inside_the_cluster_the_service_account_is_enough(kube, tmp_path):
    config = json.loads(kube.kubeconfig.read_text())
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    (tmp_path / "token").write_text(user["token"])
    (tmp_path / "namespace").write_text(kube.name)
    (tmp_path / "ca.crt").write_bytes(base64.b64decode(cluster["certificate-authority-data"]))
    host, port = urlsplit(cluster["server"]).netloc.split(":")
    pod = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port, "HOME": "/none"}
    found = access("k8s://", pod, str(tmp_path))
    assert (found.namespace, found.context) == (kube.name, "")
    assert listed(found) == []


def test_a_server_is_not_trusted_without_its_authority_unless_that_is_wanted(kube):
    def forget(cluster, user):
        del cluster["certificate-authority-data"]

    def skip(cluster, user):
        cluster["insecure-skip-tls-verify"] = True

    with pytest.raises(ApiError, match="is not trusted"):
        listed(changed(kube, forget))
    assert listed(changed(kube, skip)) == []


def test_the_name_in_the_certificate_may_be_another_one(kube):
    def misname(cluster, user):
        cluster["tls-server-name"] = "no-such-name"

    with pytest.raises(ApiError, match="is not trusted"):
        listed(changed(kube, misname))


def test_nobody_is_let_in_without_credentials(kube):
    with pytest.raises(ApiError) as caught:
        listed(changed(kube, lambda cluster, user: user.clear()))
    assert caught.value.code == 403 and "has no credentials" in str(caught.value)


def test_the_commands_of_the_page_give_a_user_the_rights_that_a_run_needs(kube, tmp_path):
    (tmp_path / "role.yaml").write_text(documented("role"))
    for line in documented("binding").replace("NAMESPACE", kube.name).splitlines():
        done = kube.kubectl(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    wanted = [(verb, resource) for resource, verbs in RIGHTS.items() for verb in verbs]
    for it in wanted:
        wait_until(f"alice may {it}", lambda it=it: may(kube, "alice", *it))
    assert not may(kube, "alice", "get", "secrets")


def may(kube, user, verb, resource):
    kind, _, part = resource.partition("/")
    asked = ("auth", "can-i", verb, kind, "--subresource", part, "--as", user)
    return kube.kubectl(*asked).stdout == "yes\n"
