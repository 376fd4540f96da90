"""A real runner in a pod, dialled through the API server."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from tests.bounds import HANG
from tests.commands import tfrun
from tests.runners import CLUSTER, RUN, SECRET, TASK, Launcher
from tfmesos.core.events import RunnerBack, TaskExited, TaskRegistered
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.kubeconfig import access
from tfmesos.launcher.links import payload
from tfmesos.launcher.links.dialer import Dialer

from .pods import SMALL, create, is_running, on_kubernetes, pod, remove, until

PORT = 4711


def task_pod():
    """A pod whose runner waits at a port of its loopback."""
    command = ("python3", "-I", "-S", "-c", payload.listening_stub().replace("$(", "$$("))
    env = [
        {"name": "TFMESOS_RUNNER", "value": f":{PORT} {RUN} {TASK} 60 self"},
        {"name": "TFMESOS_SECRET", "value": SECRET.hex()},
        {"name": "TFMESOS_ADDRESS", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    return pod("runner", *command, container={"env": env})


@asynccontextmanager
async def dialling(**options):
    """A launcher that dials the pod; the name of the task is another one."""
    ours = Launcher(**options)
    async with asyncio.timeout(HANG), Client(access("k8s://")) as client:

        async def dial(task_id):
            return await client.dial("runner", PORT)

        async with ours.rendezvous as listener:
            listener.expect(TASK, SECRET, {"job": "worker", "grace": 60})
            async with Dialer(listener, dial) as dialer:
                dialer.begin(TASK)
                yield ours


def start(ours, command):
    ours.send(type="start", cluster=CLUSTER, command=command)


def test_a_command_runs_in_a_pod_and_its_address_is_that_of_the_pod(kube):
    create(kube, task_pod())

    async def main():
        async with dialling() as ours:
            start(ours, "seq 20000; exit 7")
            registered = await ours.saw(TaskRegistered)
            ended = await ours.saw(TaskExited)
            return registered.address, ended.code, ours.lines()

    address, code, lines = asyncio.run(main())
    ended = until(kube, "runner", lambda found: found["status"].get("phase") == "Failed")
    assert address.rpartition(":")[0] == ended["status"]["podIP"]
    assert (code, lines) == (7, [str(number) for number in range(1, 20001)])
    remove(kube, "runner")


def test_no_line_is_lost_when_the_api_server_is_restarted(kube, own_cluster):
    create(kube, task_pod())
    until(kube, "runner", is_running)

    async def main():
        async with dialling(grace=60) as ours:
            start(ours, "for i in $(seq 150); do echo $i; sleep 0.1; done")
            await ours.until(lambda: len(ours.lines()) > 5)
            await asyncio.to_thread(own_cluster.kill_apiserver)
            await asyncio.to_thread(own_cluster.start_apiserver)
            await ours.saw(RunnerBack)
            await ours.saw(TaskExited)
            return ours.lines()

    assert asyncio.run(main()) == [str(number) for number in range(1, 151)]
    remove(kube, "runner")


def test_a_secret_reaches_a_pod_inside_tls(kube, tmp_path):
    word = tmp_path / "word"
    word.write_text("open-sesame")
    word.chmod(0o600)
    command = ("sh", "-c", "cat $TFMESOS_SECRETS_DIR/word; env | grep -c open-sesame; true")
    words = on_kubernetes("-w", 1, *SMALL, "-v", "--secret", f"word={word}", "--", *command)
    done = tfrun(*words)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "[worker:0] open-sesame0\n"
