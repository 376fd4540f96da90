"""HTTP beyond what the recordings show: limits, secrets, the operator endpoints."""

from __future__ import annotations

import asyncio
import base64
import concurrent.futures
import gzip
import json
import resource
import socket

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tfmesos.local import AgentConfig, LocalMesos, cluster, endpoints
from tfmesos.local.calls import Malformed, parse
from tfmesos.local.endpoints import MAX_BODY

from .test_command_line import running
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
                "POST /api/v1/scheduler HTTP/1.1\r\nHost: localhost\r\n"
                "Content-Type: application/json\r\n"
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


# Names


async def statuses(mesos, *headers, path="/version"):
    found = []
    for one in headers:
        connection = await Connection.open(mesos.url)
        answer = await connection.request(None, one, method="GET", path=path)
        found.append((answer.status, answer.body))
        connection.close()
    return found


def test_it_is_served_under_its_own_addresses_and_names_only():
    ours = [
        "127.0.0.1:%d",
        "127.0.0.1",
        "localhost:%d",
        "LOCALHOST.",
        "node-a:%d",
        socket.gethostname(),
    ]
    others = ["evil.example:%d", "127.0.0.2", "[::1]:%d", "", "a@localhost", "localhost:x"]
    others += ["localhost/", "127.0.0.1.evil.example", "0x7f.1"]

    async def main():
        async with LocalMesos([NODE]) as mesos:
            port = int(mesos.url.rpartition(":")[2])
            hosts = [host.replace("%d", str(port)) for host in ours + others]
            paths = ["/version", "/state", "/files/browse?path=/x", "/nothing"]
            return [await statuses(mesos, *({"Host": h} for h in hosts), path=p) for p in paths]

    for answers in asyncio.run(main()):
        assert all(status != 403 for status, _ in answers[: len(ours)])
        assert [status for status, _ in answers[len(ours) :]] == [403] * len(others)
    assert answers[len(ours)][1].startswith("'evil.example:")
    assert answers[len(ours)][1].endswith(
        "is no name of this Mesos; --hostname gives it further ones.\n"
    )


@pytest.mark.parametrize(
    "words", [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 100, b"GET / HTTP/9.9\r\n\r\n", b"\r\n" * 9]
)
def test_what_is_no_http_is_a_bad_request_and_not_worth_a_line(words, caplog):
    async def main():
        async with LocalMesos([NODE]) as mesos:
            connection = await Connection.open(mesos.url)
            connection.writer.write(words)
            connection.writer.write_eof()
            answer = await asyncio.wait_for(connection.reader.read(), 10)
            connection.close()
            return answer

    assert asyncio.run(main())[:12] in (b"HTTP/1.0 400", b"HTTP/1.1 400", b"")
    assert caplog.records == []


def test_calls_of_web_pages_are_not_taken():
    async def main():
        async with LocalMesos([NODE]) as mesos:
            mine = {"Origin": mesos.url}
            others = ["http://evil.example", "null", "http://127.0.0.1:1", mesos.url + "0", ""]
            return await statuses(mesos, mine, *({"Origin": origin} for origin in others))

    first, *others = asyncio.run(main())
    assert first[0] == 200
    assert [status for status, _ in others] == [403] * 5
    assert others[0][1] == "Calls of web pages, as 'http://evil.example', are not taken.\n"


# Files


def test_the_files_of_a_sandbox_can_be_browsed_read_and_downloaded():
    command = "printf hello; printf oops >&2; mkdir d; echo deep > d/f"

    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", command))
            await scheduler.state("t", "TASK_FINISHED")
            connection = await Connection.open(mesos.url)
            virtual = f"/frameworks/{scheduler.framework_id}/executors/t/runs/latest"
            for root in (virtual, str(mesos.sandbox_of("t"))):
                await check(connection, root)
            scheduler.close()
            connection.close()

    async def check(connection, root):
        async def get(what):
            return await connection.request(None, {}, method="GET", path=f"/files/{what}")

        listed = json.loads((await get(f"browse?path={root}")).body)
        assert [entry["path"] for entry in listed] == [
            f"{root}/{n}" for n in ("d", "stderr", "stdout")
        ]
        assert {entry["mode"][0] for entry in listed} == {"d", "-"}
        assert listed[2]["size"] == 5 and listed[2].keys() == listed[0].keys()
        assert listed[0].keys() == {"gid", "mode", "mtime", "nlink", "path", "size", "uid"}
        (deep,) = json.loads((await get(f"browse?path={root}/d/")).body)
        assert deep["path"] == f"{root}/d/f"
        read = await get(f"read?path={root}/stdout&offset=1&length=3")
        assert json.loads(read.body) == {"data": "ell", "offset": 1}
        loaded = await get(f"download?path={root}/d/f")
        assert (loaded.status, loaded.body) == (200, "deep\n")
        assert loaded.headers["Content-Disposition"] == "attachment; filename=f"
        assert loaded.headers["Content-Type"] == "application/octet-stream"
        for what, status, words in [
            (f"read?path={root}", 400, "Cannot read a directory.\n"),
            (f"download?path={root}/d", 400, "Cannot download a directory.\n"),
            ("read?offset=0", 400, "Expecting 'path=value' in query.\n"),
            (f"browse?path={root}/stdout", 404, ""),
            (f"browse?path={root}/nothing", 404, ""),
            ("browse?path=/etc", 404, ""),
            (f"browse?path=/etc{root}", 404, ""),
        ]:
            answer = await get(what)
            assert (answer.status, answer.body) == (status, words), what

    asyncio.run(main())


def test_nothing_outside_a_sandbox_can_be_had_whatever_the_task_put_there(tmp_path):
    (tmp_path / "secret").write_text("hush")
    command = f"ln -s {tmp_path}/secret l; ln -s {tmp_path} d; mkfifo p; mkdir real"

    async def main():
        async with LocalMesos([NODE]) as mesos:
            scheduler = await Scheduler.subscribe(mesos.url, framework())
            await scheduler.launch(await scheduler.offer(), task("t", command))
            await scheduler.state("t", "TASK_FINISHED")
            root = f"/frameworks/{scheduler.framework_id}/executors/t/runs/latest"
            connection = await Connection.open(mesos.url)
            found = []
            names = [
                "l",
                "d/secret",
                "d",
                "p",
                "../latest/l",
                "real/../../../../..",
                "a%00b",
                "%ff",
            ]
            for name in [*names, "x" * 5000]:
                for verb in ("read", "download", "browse"):
                    path = f"/files/{verb}?path={root}/{name}&offset=0"
                    answer = await connection.request(None, {}, method="GET", path=path)
                    found.append((answer.status, answer.body))
            scheduler.close()
            connection.close()
            return found

    assert set(asyncio.run(main())) == {(404, "")}


# Strangers


def test_a_crowd_that_says_nothing_leaves_the_master_its_descriptors_and_its_silence():
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (200, 200))}
    with running(**few) as (process, url), concurrent.futures.ThreadPoolExecutor(1) as pool:
        said = pool.submit(process.stderr.read)
        where = ("127.0.0.1", int(url.rpartition(":")[2]))
        crowd = [socket.create_connection(where) for _ in range(400)]
        assert asyncio.run(subscribe(url)) == 200
        for stranger in crowd:
            stranger.close()
        assert asyncio.run(subscribe(url)) == 200
        process.terminate()
        warning, *said = said.result().splitlines()
    assert "warning" in warning
    assert len(said) == 1 and said[0].startswith("refused 1 connection(s); the last, of 127.0.0.1:")


async def subscribe(url):
    scheduler = await Scheduler.subscribe(url, framework())
    await scheduler.offer()
    scheduler.close()
    return scheduler.answer.status


def test_a_connection_without_a_call_is_cut_off_in_time_and_one_with_a_call_is_not(monkeypatch):
    monkeypatch.setattr(cluster, "CALL_TIMEOUT", 0.2)

    async def main():
        async with LocalMesos([NODE], credential=("fw", "dummy")) as mesos:
            framework_info, auth = framework(), basic("fw:dummy")
            scheduler = await Scheduler.subscribe(mesos.url, framework_info, auth=auth)
            await scheduler.call("REVIVE")
            silent, wrong = [await Connection.open(mesos.url) for _ in range(2)]
            assert (await wrong.request(None, basic("fw:no"))).status == 401
            for stranger in (silent, wrong):
                assert await asyncio.wait_for(_end(stranger.reader), 10)
                stranger.close()
            assert (await scheduler.call("REVIVE")).status == 202
            assert scheduler.ended is None
            scheduler.close()

    asyncio.run(main())


async def _end(reader):
    try:
        return await reader.read() == b""
    except ConnectionError:
        return True
