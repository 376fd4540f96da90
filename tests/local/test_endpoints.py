"""HTTP beyond what the recordings show: limits, secrets, the operator endpoints."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfmesos.local import AgentConfig, LocalMesos
from tfmesos.local.calls import Malformed, parse
from tfmesos.local.endpoints import MAX_BODY

from .wire import JSON_HEADERS, Connection, Scheduler, framework, task

NODE = AgentConfig("node-a", "cpus:4;mem:1024", "rack:r1")


def basic(text: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(text.encode()).decode()}


def ask(path, *, headers=JSON_HEADERS, body=None, method="GET", **options):
    async def main():
        async with LocalMesos([NODE], **options) as mesos:
            connection = await Connection.open(mesos.url)
            try:
                return await connection.request(body, headers, method=method, path=path)
            finally:
                connection.close()

    return asyncio.run(main())


def test_a_body_that_unpacks_to_more_than_the_limit_is_refused():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            connection = await Connection.open(mesos.url)
            data = gzip.compress(bytes(MAX_BODY + 1))
            head = (
                "POST /api/v1/scheduler HTTP/1.1\r\nHost: m\r\nContent-Type: application/json\r\n"
                f"Content-Encoding: gzip\r\nContent-Length: {len(data)}\r\n\r\n"
            )
            connection.writer.write(head.encode() + data)
            answer = await connection._head()
            connection.close()
            return answer.status

    assert asyncio.run(main()) == 413


@pytest.mark.parametrize(
    "body", ["[" * 100_000, '{"type": NaN}', "\ud800", '{"type": "SUBSCRIBE", "subscribe": 1e999}']
)
def test_strange_json_is_a_bad_request(body):
    with pytest.raises(Malformed):
        parse(body.encode(errors="surrogatepass"))


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    "type framework_id value accept operations launch task_infos resources "
                    "subscribe framework_info name user uuid kill task_id".split()
                ),
                inner | st.sampled_from(["SUBSCRIBE", "ACCEPT", "KILL", "LAUNCH"]),
                max_size=5,
            )
        ),
        max_leaves=20,
    )
)
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_any_json_is_a_call_or_malformed(value):
    try:
        assert "type" in parse(json.dumps(value).encode())
    except Malformed as error:
        assert str(error)


@pytest.mark.parametrize("headers", [{}, basic("fw:wrong"), {"Authorization": "Basic ***"}])
@pytest.mark.parametrize("path", ["/state", "/master/tasks", "/api/v1/scheduler"])
def test_without_the_secret_nothing_is_told(path, headers):
    answer = ask(path, headers=headers, credential=("fw", "dummy"))
    assert (answer.status, answer.body) == (401, "401 Unauthorized.")
    assert answer.headers["WWW-Authenticate"].startswith('Basic realm="mesos-master-')


def test_a_secret_may_hold_any_character():
    answer = ask("/state", headers=basic("fw:a:b ü"), credential=("fw", "a:b ü"))
    assert answer.status == 200


def test_version_and_health_are_open():
    assert json.loads(ask("/version", credential=("fw", "x")).body)["version"] == "1.11.0"
    assert ask("/master/health", credential=("fw", "x")).status == 200


def test_redirect_points_to_the_leader_which_is_always_this_one():
    answer = ask("/master/redirect")
    assert answer.status == 307 and answer.headers["Location"].startswith("//127.0.0.1:")


def test_a_teardown_of_an_unknown_framework_is_a_bad_request():
    assert ask("/teardown", body="frameworkId=x", method="POST").status == 400


def test_a_call_mesos_knows_and_we_do_not_is_refused_in_words():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.offer()
            answer = await scheduler.call("REQUEST")
            scheduler.close()
            return answer

    answer = asyncio.run(main())
    assert (answer.status, answer.body) == (
        501,
        "The embedded Mesos does not know the call REQUEST",
    )


def test_the_state_shows_agents_frameworks_and_tasks_with_their_sandboxes():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            tasks = task("done", "true"), task("box", "exec sleep 1000", cpus=1)
            await scheduler.launch(await scheduler.offer(), *tasks)
            await scheduler.state("done", "TASK_FINISHED")
            await scheduler.state("box", "TASK_RUNNING")
            connection = await Connection.open(mesos.url)
            answers = [
                await connection.request(None, {}, method="GET", path=path)
                for path in ("/state", "/master/slaves", "/tasks")
            ]
            sandbox = mesos.sandbox_of("box")
            scheduler.close()
            connection.close()
            return [json.loads(answer.body) for answer in answers], str(sandbox)

    (state, slaves, tasks), sandbox = asyncio.run(main())
    (mine,) = state["frameworks"]
    assert [t["id"] for t in mine["tasks"]] == ["box"]
    assert [t["id"] for t in mine["completed_tasks"]] == ["done"]
    assert mine["tasks"][0]["directory"] == sandbox
    (agent,) = slaves["slaves"]
    assert agent["hostname"] == "node-a" and agent["attributes"] == {"rack": "r1"}
    assert agent["resources"] == {"disk": 0.0, "mem": 1024.0, "gpus": 0.0, "cpus": 4.0}
    assert agent["used_resources"]["cpus"] == 1.0
    assert {t["id"]: t["state"] for t in tasks["tasks"]} == {
        "done": "TASK_FINISHED",
        "box": "TASK_RUNNING",
    }
