"""Our client of the API, against the genuine server."""

from __future__ import annotations

import asyncio
import json
import os

import pytest

from tests.bounds import HANG
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.error import ApiError, Expired
from tfmesos.engines.kubernetes.api.kubeconfig import access

from .pods import create, has_ended, is_running, pod, remove, until

ECHO = (
    "import socket\n"
    "server = socket.create_server(('127.0.0.1', 7777))\n"
    "while True:\n"
    "  with server.accept()[0] as peer:\n"
    "    while data := peer.recv(65536): peer.sendall(data)\n"
)


def play(scenario, master="k8s://"):
    async def whole():
        async with asyncio.timeout(HANG), Client(access(master)) as client:
            return await scenario(client)

    return asyncio.run(whole())


def test_an_object_is_created_listed_changed_and_deleted(kube):
    async def scenario(client):
        made = await client.create("configmaps", {"metadata": {"name": "a", "labels": {"x": "y"}}})
        items, _ = await client.list("configmaps", "x=y")
        assert [item["metadata"]["name"] for item in items] == ["a"]
        change = {"metadata": {"annotations": {"seen": "now"}}}
        changed = await client.patch("configmaps", "a", change)
        assert changed["metadata"]["annotations"] == {"seen": "now"}
        assert changed["metadata"]["uid"] == made["metadata"]["uid"]
        assert await client.delete("configmaps", "a") is True
        assert await client.delete("configmaps", "a") is False

    play(scenario)


def test_a_watch_tells_the_life_of_a_pod_from_the_version_of_the_list_on(kube):
    async def scenario(client):
        _, version = await client.list("pods")
        body = pod("short", "sh", "-c", "echo hello; exit 3")
        await client.create("pods", body)
        phases = []
        async for kind, found in client.watch("pods", "", version):
            phases.append((kind, found["status"].get("phase")))
            if has_ended(found):
                break
        assert phases[0] == ("ADDED", "Pending") and phases[-1] == ("MODIFIED", "Failed")
        assert await client.log("short", 1000) == "hello\n"
        assert await client.delete("pods", "short", grace=0)

    play(scenario)


def test_bytes_go_through_a_port_forward_and_come_back(kube):
    create(kube, pod("echo", "python3", "-c", ECHO))
    until(kube, "echo", is_running)
    sent = os.urandom(2**20)

    async def scenario(client):
        connection = await dialled(client)
        reader, writer = await asyncio.open_connection(sock=connection)
        writer.write(sent)
        received = await reader.readexactly(len(sent))
        writer.close()
        await writer.wait_closed()
        return received

    assert play(scenario) == sent
    remove(kube, "echo")


async def dialled(client):
    while True:
        try:
            return await client.dial("echo", 7777)
        except ConnectionRefusedError:
            await asyncio.sleep(0.1)  # the pod runs, its program does not listen yet


def test_a_port_where_nobody_listens_refuses(kube):
    create(kube, pod("echo", "sleep", "600"))
    until(kube, "echo", is_running)

    async def scenario(client):
        with pytest.raises(ConnectionRefusedError):
            await client.dial("echo", 7777)

    play(scenario)
    remove(kube, "echo")


@pytest.mark.parametrize("kind", ["nodes", "events"])
def test_what_rbac_forbids_is_told_with_the_rule_that_would_allow_it(kube, kind):
    async def scenario(client):
        with pytest.raises(ApiError) as caught:
            await client.list(kind)
        assert caught.value.code == 403
        rule = f'{{apiGroups: [""], resources: ["{kind}"], verbs: ["list"]}}'
        assert rule in str(caught.value)

    play(scenario)


def test_refusals_are_told_apart(kube):
    async def scenario(client):
        named = {"metadata": {"name": "twice"}}
        await client.create("configmaps", named)
        with pytest.raises(ApiError, match="409") as twice:
            await client.create("configmaps", named)
        assert twice.value.reason == "AlreadyExists"
        with pytest.raises(ApiError, match=r"409") as stale:
            old = {"metadata": {"resourceVersion": "1"}}
            await client.patch("configmaps", "twice", old)
        assert stale.value.reason == "Conflict"
        with pytest.raises(ApiError, match="422") as invalid:
            await client.create("pods", {"metadata": {"name": "none"}, "spec": {"containers": []}})
        assert invalid.value.exit_code == 2
        await client.delete("configmaps", "twice")

    play(scenario)


def test_a_namespace_that_is_missing_is_named(kube):
    kube.admin.post("/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", everywhere(kube))
    try:
        play(refused_in_no_namespace, "k8s://restricted/no-such-place")
    finally:
        kube.admin.delete(
            f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{kube.name}-everywhere"
        )


async def refused_in_no_namespace(client):
    with pytest.raises(ApiError, match="there is no namespace 'no-such-place'") as caught:
        await client.create("configmaps", {"metadata": {"name": "a"}})
    assert caught.value.exit_code == 2


def everywhere(kube):
    subject = {"kind": "ServiceAccount", "name": "restricted", "namespace": kube.name}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "edit"}
    name = f"{kube.name}-everywhere"
    return {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}


def test_a_token_that_is_wrong_is_told_without_its_text(kube):
    config = json.loads(kube.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = "hush"
    kube.kubeconfig.write_text(json.dumps(config))

    async def scenario(client):
        with pytest.raises(ApiError, match="log in again") as caught:
            await client.list("pods")
        assert caught.value.code == 401 and "hush" not in str(caught.value)

    play(scenario)


def test_after_a_restart_of_the_server_an_old_version_has_expired(kube, own_cluster):
    async def scenario(client):
        _, version = await client.list("pods")
        await client.create("configmaps", {"metadata": {"name": "later"}})
        await client.delete("configmaps", "later")
        await asyncio.to_thread(own_cluster.kill_apiserver)
        await asyncio.to_thread(own_cluster.start_apiserver)
        with pytest.raises(Expired):
            async for _ in client.watch("pods", "", version):
                pass
        _, version = await client.list("pods")
        await client.create("pods", pod("next", "true"))
        kind, found = await anext(client.watch("pods", "", version))
        assert (kind, found["metadata"]["name"]) == ("ADDED", "next")
        await client.delete("pods", "next", grace=0)

    play(scenario)
