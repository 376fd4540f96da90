"""What a run costs the API server: the figures of docs/kubernetes.rst."""

import asyncio

from tests.engines.kubernetes.test_driver import driven
from tfmesos.engines.kubernetes import events as happened


def asked(certificate, tasks):
    """How many questions of each kind, besides the reviews and the port-forwards."""

    async def scenario():
        async with driven(certificate) as one:
            await one.until(happened.Connected)
            one.create(*(f"worker-{index}" for index in range(tasks)))
            for _ in range(tasks):
                await one.until(happened.PodChanged, lambda event: event.pod.is_scheduled)
            await one.driver.leave(30.0)
            return one.api.requests

    return [(method, kind) for method, kind, _ in asyncio.run(scenario())]


def test_each_task_costs_the_server_two_questions_besides_its_port_forward(certificate):
    one, three = asked(certificate, 1), asked(certificate, 3)
    assert len(three) - len(one) == 2 * 2
    assert three.count(("POST", "pods")) == three.count(("DELETE", "pods")) == 3


def test_a_run_costs_the_server_six_questions_besides_its_tasks_and_its_review(certificate):
    found = [
        one for one in asked(certificate, 1) if one not in (("POST", "pods"), ("DELETE", "pods"))
    ]
    assert sorted(found) == [
        ("DELETE", "configmaps"),
        ("GET", "configmaps"),
        ("GET", "pods"),
        ("GET", "pods"),
        ("POST", "configmaps"),
        ("POST", "secrets"),
    ]
