"""The HTTP endpoints of the embedded Mesos."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mesos.embedded import LocalMesos, endpoints
from tests.mesos.embedded.calls import Malformed, parse
from tests.mesos.embedded.endpoints import MAX_BODY

from .asking import NODE, ask, basic
from .wire import JSON_HEADERS, Connection, Scheduler, framework, task


def test_a_packed_body_is_refused_for_a_little_of_it_can_be_gigabytes():
    packed = {**JSON_HEADERS, "Content-Encoding": "gzip"}
    answer = ask("/api/v1/scheduler", headers=packed, body="x", method="POST")
    assert answer.status == 415 and "unpacks nothing" in answer.body


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


READERS = ["/state", "/master/tasks", "/api/v1/scheduler"]


FILES = ["/files/read?path=/x", "/files/browse?path=/x", "/files/download?path=/x"]


@pytest.mark.parametrize("headers", [{}, basic("fw:wrong"), {"Authorization": "Basic ***"}])
@pytest.mark.parametrize("path", [*READERS, *FILES])
def test_without_the_secret_nothing_is_told(path, headers):
    answer = ask(path, headers=headers, credential=("fw", "dummy"))
    assert (answer.status, answer.body) == (401, "401 Unauthorized.")
    assert answer.headers["WWW-Authenticate"].startswith('Basic realm="mesos-')


def test_without_the_secret_no_framework_is_torn_down():
    async def main():
        async with LocalMesos([NODE], credential=("fw", "dummy")) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework(), auth=basic("fw:dummy"))
            await scheduler.offer()
            connection = await Connection.open(mesos.url)
            form = f"frameworkId={scheduler.framework_id}"
            for auth, status in [({}, 401), (basic("fw:no"), 401), (basic("fw:dummy"), 200)]:
                answer = await connection.request(form, auth, path="/master/teardown")
                assert (answer.status, scheduler.ended) == (status, None)
            await scheduler.over()
            scheduler.close()
            connection.close()

    asyncio.run(main())


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


def test_protobuf_is_refused_with_the_advice_to_use_json():
    advice = "the embedded Mesos does not speak application/x-protobuf; use application/json"
    protobuf = {"Content-Type": "application/x-protobuf", "Accept": "application/x-protobuf"}
    answer = ask("/api/v1/scheduler", headers=protobuf, body="\x08\x01", method="POST")
    assert answer.status == 415 and answer.body.endswith(advice)
    call = {"type": "SUBSCRIBE", "subscribe": {"framework_info": framework()}}
    mixed = {"Content-Type": "application/json", "Accept": "application/x-protobuf"}
    answer = ask("/api/v1/scheduler", headers=mixed, body=call, method="POST")
    assert answer.status == 406 and answer.body.endswith(advice)


def test_what_a_call_too_large_may_have_accepted_is_given_back(monkeypatch):
    monkeypatch.setattr(endpoints, "MAX_BODY", 100_000)

    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            offer = await scheduler.offer()
            answer = await scheduler.launch(offer, task("big", f"true {'x' * 200_000}"))
            assert answer.status == 413
            (rescinded,) = await scheduler.until(lambda: scheduler.of_type("RESCIND"))
            assert rescinded["rescind"]["offer_id"] == offer["id"]
            other = await Scheduler.subscribe(mesos.url, framework())
            assert (await other.offer())["resources"] == offer["resources"]
            scheduler.close()
            other.close()

    asyncio.run(main())


def test_the_largest_body_holds_ten_thousand_tasks_of_five_kib():
    assert 10_000 * 5 * 1024 < MAX_BODY < 256 * 2**20
