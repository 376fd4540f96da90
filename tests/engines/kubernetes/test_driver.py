"""The driver asks a server that has objects, but no nodes."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from tests.bounds import HANG
from tests.builders import workers
from tests.engines.kubernetes.servers import client
from tests.engines.kubernetes.simulated import SimulatedApi, answer, status
from tests.tls import server_context
from tfmesos.config.secret import Secret
from tfmesos.core.outcome import Ending
from tfmesos.engines.api import Context
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes.actions import CountNodes, CreatePods, DeletePods, NewPod
from tfmesos.engines.kubernetes.api.credentials import Credentials
from tfmesos.engines.kubernetes.driver import KubernetesDriver
from tfmesos.errors import UnreadableFile
from tfmesos.http.server import Server
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys

RUNNING = [{"name": "tensorflow", "state": {"running": {}}}]
QUOTA = 'pods "a" is forbidden: exceeded quota: few, requested: pods=1, used: pods=1, limited: '


class Links:
    def __init__(self):
        self.log = []

    def begin(self, task_id):
        self.log.append(("begin", task_id))

    def end(self, task_id):
        self.log.append(("end", task_id))


class Driven:
    """A driver, its server, and what it told."""

    def __init__(self, api, client, config, keys):
        self.api, self.events, self.said, self.links = api, asyncio.Queue(), [], Links()
        self.driver = KubernetesDriver(
            Context(config, "tfmesos-abcd", self._say, str, None, keys),
            client,
            self.events.put_nowait,
            lambda task_id, task, port: (f":1 run {task_id} 20 self", Secret("5ec2e7")),
            stub="the stub",
            links=self.links,
            give_up_after=HANG,
        )
        self.tasks = config.tasks

    def _say(self, text, level):
        self.said.append(text)

    async def until(self, kind, is_it=lambda event: True):
        """The next event of this kind; or what ended the driver before."""
        while True:
            coming = asyncio.create_task(self.events.get())
            await asyncio.wait({coming, self.running}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return self.running.result()
            if isinstance(event := coming.result(), kind) and is_it(event):
                return event

    def create(self, *names):
        tasks = dict(zip(names, self.tasks, strict=False))
        pods = tuple(NewPod(name, f"id-{name}", task) for name, task in tasks.items())
        self.driver.carry_out(CreatePods(pods))


@asynccontextmanager
async def driven(certificate, api=None, keys=None, **settings):
    api = api or SimulatedApi()
    server = Server(api.handle)
    loop = asyncio.get_running_loop()
    tls = server_context(certificate)
    listener = await loop.create_server(server.protocol, "127.0.0.1", 0, ssl=tls)
    port = listener.sockets[0].getsockname()[1]
    config = make_config([workers(3)], master="k8s://", image="me/train", **settings)
    try:
        async with asyncio.timeout(HANG), client(port, certificate, namespace="team") as asking:
            one = Driven(api, asking, config, keys or Keys())
            one.running = running = asyncio.create_task(one.driver.run())
            try:
                yield one
            finally:
                running.cancel()
                await asyncio.wait([running])
    finally:
        listener.close()
        await server.close()


def test_the_owner_is_made_before_all_and_all_belongs_to_it(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create("worker-0", "worker-1")
            await one.until(happened.PodChanged, lambda event: event.pod.is_scheduled)
            await one.until(happened.PodChanged, lambda event: event.pod.is_scheduled)
            return one.api

    api = asyncio.run(scenario())
    made = [(kind, name) for method, kind, name in api.requests if method == "POST"]
    assert [kind for kind, _ in made] == ["configmaps", "secrets", "pods", "pods"]
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "tfmesos-abcd"}
    for kind in ("secrets", "pods"):
        for it in api.objects[kind].values():
            uid = {"uid": "uid-of-tfmesos-abcd"}
            assert it["metadata"]["ownerReferences"] == [{**reference, **uid}]
    secret = api.objects["secrets"]["tfmesos-abcd-secret-1"]["stringData"]
    assert secret == {"stub": "the stub", "worker-0": "5ec2e7", "worker-1": "5ec2e7"}


def test_a_name_that_somebody_else_has_is_not_taken_from_him(certificate):
    async def scenario():
        api = SimulatedApi()
        theirs = {"metadata": {"name": "tfmesos-abcd", "labels": {}}}
        api.objects["configmaps"]["tfmesos-abcd"] = theirs
        async with driven(certificate, api) as one:
            await one.until(happened.Connected)
            await one.driver.leave(5)
            assert api.objects["configmaps"] == {"tfmesos-abcd": theirs}

    asyncio.run(scenario())


def test_nothing_is_left_when_it_has_left(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create("worker-0", "worker-1", "worker-2")
            await one.driver.leave(5)
            objects = one.api.objects
            assert (objects["configmaps"], objects["pods"]) == ({}, {})
            assert one.said == ["creating 3 pods"]

    asyncio.run(scenario())


def test_a_server_that_is_gone_at_the_end_is_told_with_the_way_out(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            refusal = status(500, "InternalError", "no leader")
            one.api.refusals["DELETE", "configmaps"] = [refusal] * 99
            await one.driver.leave(0.1)
            assert "kubectl delete configmap tfmesos-abcd -n team" in one.said[-1]

    asyncio.run(scenario())


def test_who_cannot_prove_himself_any_more_is_told_and_the_driver_goes_on(certificate, monkeypatch):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)

            async def unreadable(self):
                raise UnreadableFile(None, "master", "cannot be read")

            with monkeypatch.context() as patch:
                patch.setattr(Credentials, "headers", unreadable)
                one.create("worker-0")
                assert (await one.until(happened.PodsRefused)).error.exit_code == 66
                one.driver.carry_out(CountNodes())
                assert (await one.until(happened.NodesCounted)).nodes is None
                one.driver.carry_out(DeletePods(("worker-0",), 5.0))
                await one.driver.leave(0.1)
                assert "kubectl delete configmap tfmesos-abcd" in one.said[-1]
            await one.driver.leave(5)
            assert one.api.objects["configmaps"] == {}

    asyncio.run(scenario())


def test_a_driver_that_has_ended_is_left_at_once(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.running.cancel()
            one.create("worker-0")
            await asyncio.wait([one.running])
            await one.driver.leave(HANG)
            assert one.api.objects["configmaps"] == {}
            assert one.said == ["creating 1 pod"]

    asyncio.run(scenario())


def test_a_server_that_is_busy_at_the_end_is_asked_again(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            busy = status(503, "ServiceUnavailable", "busy")
            one.api.refusals["DELETE", "configmaps"] = [busy, busy]
            await one.driver.leave(HANG)
            assert (one.api.objects["configmaps"], one.said) == ({}, [])

    asyncio.run(scenario())


def test_an_owner_whose_answer_was_lost_is_not_made_twice(certificate):
    class Forgetful(SimulatedApi):
        has_lost = False

        def _create(self, kind, body):
            made = super()._create(kind, body)
            if kind != "configmaps" or self.has_lost:
                return made
            self.has_lost = True
            return status(504, "Timeout", "the answer was lost")

    async def scenario():
        async with driven(certificate, Forgetful()) as one:
            await one.until(happened.Connected)
            assert list(one.api.objects["configmaps"]) == ["tfmesos-abcd"]
            await one.driver.leave(HANG)
            assert one.api.objects["configmaps"] == {}

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("limited", "is_quota"), [("pods=9", True), ("pods=1", False), ("cpu=2", False), ("", True)]
)
def test_a_quota_is_waited_for_unless_the_run_can_never_have_enough(certificate, limited, is_quota):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            refusal = status(403, "Forbidden", QUOTA + limited)
            one.api.refusals["POST", "pods"] = [refusal] * 3
            one.create("worker-0", "worker-1", "worker-2")
            refused = await one.until(happened.PodsRefused)
            assert refused.is_quota is is_quota
            assert refused.error.exit_code == 75

    asyncio.run(scenario())


def test_a_secret_goes_when_all_of_its_pods_have_been_given_up(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create("worker-0", "worker-1")
            one.driver.carry_out(DeletePods(("worker-0",), 5.0))
            one.create("worker-2")
            one.driver.carry_out(DeletePods(("worker-1", "never-made"), 5.0))
            while await one.api.deleted.get() != "tfmesos-abcd-secret-1":
                pass
            assert list(one.api.objects["secrets"]) == ["tfmesos-abcd-secret-2"]
            assert list(one.api.objects["pods"]) == ["tfmesos-abcd-worker-2"]

    asyncio.run(scenario())


def test_a_pod_that_a_lost_answer_made_is_not_made_twice(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            lost = status(500, "InternalError", "the answer was lost")
            one.api.refusals["POST", "pods"] = [lost]
            one.create("worker-0")
            await one.until(happened.PodChanged)
            again = status(409, "AlreadyExists", "there it is")
            one.api.refusals["POST", "pods"] = [lost, again]
            one.create("worker-1")
            one.driver.carry_out(DeletePods(("worker-0",), 5.0))
            await one.until(happened.PodGone)
            assert one.events.empty()

    asyncio.run(scenario())


def test_a_runner_is_connected_to_while_its_container_runs(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create("worker-0")
            await one.until(happened.PodChanged, lambda event: event.pod.is_scheduled)
            name = "tfmesos-abcd-worker-0"
            one.api.change(name, phase="Running", containerStatuses=RUNNING)
            await one.until(happened.PodChanged, lambda event: event.pod.is_running)
            assert one.links.log == [("begin", "id-worker-0")]
            one.api.change(name, phase="Failed")
            await one.until(happened.PodChanged, lambda event: event.pod.has_ended)
            assert one.links.log[1:] == [("end", "id-worker-0")]

    asyncio.run(scenario())


def test_a_watch_that_is_too_old_begins_with_a_new_list(certificate):
    async def scenario():
        api = SimulatedApi()
        api.expires = 2
        async with driven(certificate, api) as one:
            for _ in range(2):
                assert (await one.until(happened.PodsListed)).pods == ()
            one.create("worker-0")
            assert (await one.until(happened.PodChanged)).pod.name == "worker-0"

    asyncio.run(scenario())


def test_a_watch_that_breaks_is_told_and_opened_again(certificate):
    async def scenario():
        api = SimulatedApi()
        api.breaks = 1
        async with driven(certificate, api) as one:
            await one.until(happened.Disconnected)
            await one.until(happened.Reconnected)
            one.create("worker-0")
            assert (await one.until(happened.PodChanged)).pod.name == "worker-0"

    asyncio.run(scenario())


def test_the_log_of_a_task_that_could_not_report_is_read(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create("worker-0")
            one.api.logs["tfmesos-abcd-worker-0"] = "first\n\nno such file\n"
            ending = Ending(one.tasks[0], "node-1", 127, "ended", (), 1.0, "id-worker-0")
            explained = await one.driver.explain(ending)
            assert explained.tail == ("first", "no such file")
            told = ending.replace(is_reported=True)
            assert await one.driver.explain(told) == told

    asyncio.run(scenario())


def test_nodes_that_may_not_be_listed_are_unknown(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.driver.carry_out(CountNodes())
            assert (await one.until(happened.NodesCounted)).nodes is None

    asyncio.run(scenario())


RULES = [
    {"verbs": ["*"], "apiGroups": [""], "resources": ["pods", "configmaps", "secrets"]},
    {"verbs": ["get"], "apiGroups": [""], "resources": ["pods/log", "pods/portforward"]},
]


def test_a_right_that_is_missing_is_told_before_anything_is_made(certificate):
    class Strict(SimulatedApi):
        def _of_cluster(self, path):
            if path.endswith("selfsubjectrulesreviews"):
                return answer(201, {"status": {"resourceRules": RULES, "incomplete": True}})
            return answer(201, {"status": {"allowed": False}})

    async def scenario():
        async with driven(certificate, Strict()) as one:
            error = (await one.until(happened.ServerGaveUp)).error
            rule = '{apiGroups: [""], resources: ["pods/portforward"], verbs: ["create"]}'
            assert "not allowed in namespace team: create pods/portforward" in str(error)
            assert rule in str(error) and error.exit_code == 69
            assert one.api.objects["configmaps"] == {}

    asyncio.run(scenario())


def test_owners_that_nobody_renews_are_deleted_by_the_next_run_of_the_same_user(certificate):
    def left(name, user, renewed):
        labels = {"app.kubernetes.io/managed-by": "tfrun", "tfmesos/user": user}
        annotations = {"tfmesos/renewed": renewed}
        return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}

    async def scenario():
        api = SimulatedApi()
        async with driven(certificate, api) as one:
            user = one.driver._config.user
            for it in (
                left("fresh", user, "2026-11-17T01:51:00Z"),
                left("theirs", "somebody", "2026-11-17T01:49:00Z"),
                left("odd", user, "yesterday"),
                left("stale", user, "2026-11-17T01:49:00Z"),  # the last one to be looked at
            ):
                api.objects["configmaps"][it["metadata"]["name"]] = it
            assert await api.deleted.get() == "stale"
            assert sorted(api.objects["configmaps"]) == ["fresh", "odd", "tfmesos-abcd", "theirs"]

    asyncio.run(scenario())
