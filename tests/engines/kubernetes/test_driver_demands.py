"""What a namespace demands of pods: a limit of CPU, a place in a queue, no root."""

import asyncio

from tests.engines.kubernetes.pods.test_groups import FULL, workload
from tests.engines.kubernetes.pods.test_resources import BY_QUOTA, BY_RANGE
from tests.engines.kubernetes.simulated import answer, status
from tests.engines.kubernetes.test_driver import driven
from tests.engines.kubernetes.test_security_context import BY_STANDARD
from tfmesos.engines.kubernetes import events as happened
from tfmesos.engines.kubernetes.actions import AskQueue

FORBIDDEN = (
    'workloads.kueue.x-k8s.io "tfmesos-abcd" is forbidden: User "me" cannot get resource '
    '"workloads" in API group "kueue.x-k8s.io" in the namespace "team"'
)


def limits(api):
    """Of the CPU, by the pod."""
    return {
        name: pod["spec"]["containers"][0]["resources"]["limits"].get("cpu")
        for name, pod in api.objects["pods"].items()
    }


def test_a_namespace_that_demands_a_cpu_limit_gets_pods_that_have_one(certificate):
    async def scenario(refusal):
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.api.refusals["POST", "pods"] = [refusal, refusal]
            one.create("worker-0", "worker-1")
            for _ in range(2):
                await one.until(happened.PodChanged, lambda event: event.pod.is_scheduled)
            assert set(limits(one.api).values()) == {"1000m"}
            assert [text for text in one.said if "requires CPU limits" in text]
            one.create("worker-2")
            await one.until(
                happened.PodChanged,
                lambda event: event.pod.name == "worker-2" and event.pod.is_scheduled,
            )
            return limits(one.api)

    for refusal in (status(403, "Forbidden", BY_QUOTA), status(422, "Invalid", BY_RANGE)):
        assert asyncio.run(scenario(refusal))["tfmesos-abcd-worker-2"] == "1000m"


def test_a_demand_that_a_limit_does_not_meet_ends_the_run(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.api.refusals["POST", "pods"] = [status(422, "Invalid", BY_RANGE) for _ in range(4)]
            one.create("worker-0")
            refused = await one.until(happened.PodsRefused)
            assert not refused.is_quota and "cpu limit" in str(refused.error)

    asyncio.run(scenario())


def test_pods_that_may_be_root_are_refused_with_the_way_out(certificate):
    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.api.refusals["POST", "pods"] = [status(403, "Forbidden", BY_STANDARD)]
            one.create("worker-0")
            error = (await one.until(happened.PodsRefused)).error
            assert "namespace team enforces Pod Security restricted" in str(error)
            assert error.exit_code == 2

    asyncio.run(scenario())


def test_the_queue_is_asked_for_the_workload_of_the_group(certificate):
    async def scenario():
        async with driven(certificate, queue="training") as one:
            await one.until(happened.Connected)
            one.create("worker-0", "worker-1")
            await one.until(happened.PodChanged)
            (pod, *_) = one.api.objects["pods"].values()
            assert pod["metadata"]["labels"]["kueue.x-k8s.io/pod-group-name"] == "tfmesos-abcd"
            said = []
            for found in (
                None,
                answer(200, workload(QuotaReserved=("False", FULL))),
                status(403, "Forbidden", FORBIDDEN),
            ):
                one.api.workloads["tfmesos-abcd"] = found
                one.driver.carry_out(AskQueue())
                said.append((await one.until(happened.QueueSaid)).reason)
            return said

    assert asyncio.run(scenario()) == ["", FULL, None]
