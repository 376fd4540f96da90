"""Questions to the API server: good answers, refusals, and servers that lie or go."""

from __future__ import annotations

import asyncio
import json
import tracemalloc

import pytest

from tests.sentences import names
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes.api import client, watch_lines
from tfmesos.engines.kubernetes.api import connection as api_connection
from tfmesos.engines.kubernetes.api.access import Login
from tfmesos.engines.kubernetes.api.error import (
    ApiError,
    Expired,
    NotKubernetes,
    Unreachable,
    Untrusted,
)
from tfmesos.http.server import Answer

from ..servers import TOKEN, answer, recorded, recorded_error, scripted, serving
from ..servers import client as client_of

PODS = "/api/v1/namespaces/tests/pods"
POD = {"kind": "Pod", "metadata": {"name": "x"}}


def asked(certificate, answers, ask, **access):
    """What *ask* gets of a client, and what the server saw."""

    async def main():
        async with serving(answers, certificate, **access) as (server, ours):
            return await ask(ours), server

    return asyncio.run(main())


def test_objects_are_created_read_changed_and_deleted(certificate):
    answers = {
        f"POST {PODS}": answer(201, POD),
        f"GET {PODS}/x": answer(200, POD),
        f"PATCH {PODS}/x": answer(200, POD),
        f"DELETE {PODS}/x": answer(200, POD),
        "GET /api/v1/nodes": answer(200, {"items": [], "metadata": {"resourceVersion": "7"}}),
    }

    async def ask(ours):
        assert await ours.create("pods", POD) == POD
        assert await ours.get("pods", "x") == POD
        assert await ours.patch("pods", "x", {"metadata": {"annotations": {"a": None}}}) == POD
        assert await ours.delete("pods", "x", grace=0)
        assert await ours.list("nodes") == ([], "7")

    _, server = asked(certificate, answers, ask)
    assert [it[0] for it in server.requests] == ["POST", "GET", "PATCH", "DELETE", "GET"]
    assert server.requests[3][3] == {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
    types = [it["content-type"] for it in server.headers]
    assert types[0] == "application/json" and types[2] == "application/merge-patch+json"
    assert {it["authorization"] for it in server.headers} == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    ("status", "kind"), [(404, "text/html; charset=utf-8"), (302, "text/plain")]
)
def test_what_is_no_api_server_is_told_so(certificate, status, kind):
    page = Answer(status, b"<html>", {"Content-Type": kind, "Location": "/login"})
    with pytest.raises(NotKubernetes, match=f"not a Kubernetes API server: .* {status}"):
        asked(certificate, {f"GET {PODS}": page}, lambda ours: ours.list("pods"))


def test_a_server_out_of_reach_is_called_what_it_should_be(certificate):
    async def main():
        async with client_of(9, certificate) as ours:
            await ours.list("pods")

    with pytest.raises(Unreachable, match=r"^the Kubernetes API server https://127.0.0.1:9: "):
        asyncio.run(main())


def test_a_list_has_all_pages(certificate):
    pages = [
        answer(
            200, {"items": [{"a": 1}], "metadata": {"continue": "more", "resourceVersion": "5"}}
        ),
        answer(200, {"items": [{"a": 2}], "metadata": {"resourceVersion": "5"}}),
    ]
    found, server = asked(certificate, {f"GET {PODS}": pages}, lambda it: it.list("pods", "run=1"))
    assert found == ([{"a": 1}, {"a": 2}], "5")
    assert [it[2] for it in server.requests] == [
        {"labelSelector": "run=1", "limit": "250"},
        {"labelSelector": "run=1", "limit": "250", "continue": "more"},
    ]


def test_a_list_whose_pages_expire_begins_anew(certificate):
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    pages = [
        answer(200, {"items": [{"a": 1}], "metadata": {"continue": "more"}}),
        answer(410, gone),
        answer(200, {"items": [{"a": 2}], "metadata": {"resourceVersion": "9"}}),
    ]
    found, _ = asked(certificate, {f"GET {PODS}": pages}, lambda it: it.list("pods"))
    assert found == ([{"a": 2}], "9")


def test_to_delete_what_is_not_there_is_no_error(certificate):
    answers = {f"DELETE {PODS}/none": answer(*recorded_error("404 pod"))}
    assert asked(certificate, answers, lambda it: it.delete("pods", "none"))[0] is False


def watched(certificate, *bodies, version="1"):
    async def ask(ours):
        return [event async for event in ours.watch("pods", "run=1", version)]

    async def body():
        for one in bodies:
            yield one

    return asked(certificate, {f"GET {PODS}": lambda: Answer(200, body())}, ask)


def test_the_life_of_a_pod_is_seen_as_it_was_recorded(certificate):
    events = [it for it in recorded("pod-life") if "type" in it]
    text = "".join(json.dumps(it) + "\n" for it in events).encode()
    pieces = [text[at : at + 1000] for at in range(0, len(text), 1000)]
    found, server = watched(certificate, *pieces)
    assert found == [(it["type"], it["object"]) for it in events] and len(found) > 3
    assert server.requests[0][2] == {
        **{"watch": "1", "labelSelector": "run=1", "resourceVersion": "1"},
        **{"allowWatchBookmarks": "true", "timeoutSeconds": "60"},
    }


def test_a_version_that_is_too_old_is_expired(certificate):
    (event,) = next(it["said"] for it in recorded("apiserver-restart") if "watch from" in it)
    with pytest.raises(Expired, match="too old resource version"):
        watched(certificate, json.dumps(event).encode() + b"\n")


def test_a_watch_that_breaks_off_may_be_tried_again(certificate):
    async def converse(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        line = json.dumps({"type": "ADDED", "object": {}}).encode() + b"\n"
        writer.write(b"%x\r\n%s\r\n" % (len(line), line))

    async def main():
        seen = []
        async with scripted(converse, certificate) as ours:
            with pytest.raises(Unreachable) as caught:
                async for event in ours.watch("pods", "", "1"):
                    seen.append(event)
        return seen, caught.value.is_retryable

    assert asyncio.run(main()) == ([("ADDED", {})], True)


def test_a_watch_that_falls_silent_ends(certificate, monkeypatch):
    monkeypatch.setattr(client, "SILENCE", 0.1)

    async def body():
        yield b'{"type": "ADDED", "object": {}}\n'
        await asyncio.Event().wait()

    async def ask(ours):
        return [event async for event in ours.watch("pods", "", "1")]

    with pytest.raises(Unreachable, match="no answer within the time allowed"):
        asked(certificate, {f"GET {PODS}": lambda: Answer(200, body())}, ask)


@pytest.mark.parametrize(
    "line",
    [
        b"no JSON\n",
        b"[]\n",
        b'{"type": "ADDED"}\n',
        b'{"type": 1, "object": {}}\n',
        b'{"type": ["ADDED"], "object": {}}\n',
        b'{"type": "OTHER", "object": {}}\n',
        b'{"type": "ADDED", "object": []}\n',
        b'{"type": "ADDED", "object": {"a":' + b"[" * 10_000 + b"]" * 10_000 + b"}}\n",
        b'{"type": "ADDED", "object": {"a": 1e999}}\n',
        b'{"type": "ADDED", "object": {"a": ' + b"1" * 5000 + b"}}\n",
        b"\xff\xfe\n",
    ],
)
def test_what_is_no_event_ends_a_watch_in_one_line(certificate, line):
    with pytest.raises(NotKubernetes) as caught:
        watched(certificate, line)
    assert "\n" not in str(caught.value) and not caught.value.is_retryable


def test_a_line_without_an_end_is_not_kept(certificate, monkeypatch):
    monkeypatch.setattr(watch_lines, "MAX_LINE", 100_000)

    async def body():
        while True:
            yield b"x" * 50_000

    async def ask(ours):
        tracemalloc.start()
        try:
            async for _ in ours.watch("pods", "", "1"):
                pass
        finally:
            assert tracemalloc.get_traced_memory()[1] < 20_000_000
            tracemalloc.stop()

    with pytest.raises(NotKubernetes, match="a line of more than 100000 bytes"):
        asked(certificate, {f"GET {PODS}": lambda: Answer(200, body())}, ask)


def refused(certificate, case, ask=lambda it: it.list("pods"), path=f"GET {PODS}", **access):
    status, body = recorded_error(case)
    with pytest.raises(ApiError) as caught:
        asked(certificate, {path: answer(status, body)}, ask, **access)
    assert "\n" not in str(caught.value) and TOKEN not in str(caught.value)
    return caught.value


def test_what_rbac_forbids_is_named_with_the_rule_that_would_allow_it(certificate):
    error = refused(certificate, "403 namespace")
    rule = '{apiGroups: [""], resources: ["pods"], verbs: ["list"]}'
    assert names(str(error), "list pods", "namespace tests", "a Role", rule)
    assert (error.code, error.reason, error.exit_code) == (403, "Forbidden", 69)
    assert not error.is_retryable


def test_what_rbac_forbids_for_the_cluster_needs_a_cluster_role(certificate):
    error = refused(certificate, "403 nodes", lambda it: it.list("nodes"), "GET /api/v1/nodes")
    assert "a ClusterRole with the rule" in str(error) and '"nodes"' in str(error)


def test_who_shows_no_credentials_is_told_so(certificate):
    error = refused(certificate, "anonymous")
    assert names(str(error), "anonymous", "kubeconfig", "no credentials")
    assert "Role" not in str(error)


def test_an_unknown_token_may_have_expired(certificate):
    error = refused(certificate, "401")
    assert "may have expired" in str(error) and error.exit_code == 69


def test_a_namespace_that_is_missing_is_told_from_a_pod(certificate):
    namespace = refused(certificate, "404 namespace")
    assert "there is no namespace 'none'" in str(namespace) and namespace.exit_code == 2
    assert namespace.is_missing_namespace
    pod = refused(certificate, "404 pod", lambda it: it.get("pods", "none"), f"GET {PODS}/none")
    assert 'pods "none" not found' in str(pod) and not pod.is_missing_namespace


def test_a_quota_is_no_matter_of_rights(certificate):
    message = 'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2'
    body = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": message}
    with pytest.raises(ApiError, match="exceeded quota: q") as caught:
        asked(certificate, {f"POST {PODS}": answer(403, body)}, lambda it: it.create("pods", POD))
    assert caught.value.exit_code == 75 and "Role" not in str(caught.value)


@pytest.mark.parametrize(
    ("case", "reason", "exit_code"),
    [
        ("409 create", "AlreadyExists", 69),
        ("409 stale", "Conflict", 69),
        ("422 create", "Invalid", 2),
    ],
)
def test_other_refusals_keep_their_reason(certificate, case, reason, exit_code):
    error = refused(certificate, case, lambda it: it.create("pods", POD), f"POST {PODS}")
    assert (error.reason, error.exit_code, error.is_retryable) == (reason, exit_code, False)


def test_a_busy_server_is_asked_again_when_it_says(certificate, monkeypatch):
    monkeypatch.setattr(api_connection, "SHORTEST_WAIT", 0.01)
    busy = answer(429, {"kind": "Status", "code": 429, "message": "busy"}, **{"Retry-After": "0"})
    answers = {f"GET {PODS}/x": [busy, busy, answer(200, POD)]}
    found, server = asked(certificate, answers, lambda it: it.get("pods", "x"))
    assert found == POD and len(server.requests) == 3


def test_a_server_that_stays_busy_is_given_up_and_may_be_tried_later(certificate, monkeypatch):
    monkeypatch.setattr(api_connection, "SHORTEST_WAIT", 0.01)
    monkeypatch.setattr(api_connection, "TOTAL_WAIT", 0.1)
    busy = answer(429, {"kind": "Status", "code": 429, "message": "busy"}, **{"Retry-After": "0"})
    with pytest.raises(ApiError) as caught:
        asked(certificate, {f"GET {PODS}/x": busy}, lambda it: it.get("pods", "x"))
    assert (caught.value.exit_code, caught.value.is_retryable) == (75, True)


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_trouble_of_the_server_may_pass(certificate, status):
    with pytest.raises(ApiError, match=f"{status}.*no backend") as caught:
        asked(
            certificate,
            {f"GET {PODS}/x": answer(status, b"no backend")},
            lambda it: it.get("pods", "x"),
        )
    assert caught.value.is_retryable


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"[" * 100_000, b'{"a": 1e999}', b""])
def test_an_answer_that_is_no_object_is_not_of_kubernetes(certificate, body):
    with pytest.raises(NotKubernetes):
        asked(certificate, {f"GET {PODS}/x": answer(200, body)}, lambda it: it.get("pods", "x"))


def test_a_body_without_end_is_cut_off(certificate, monkeypatch):
    monkeypatch.setattr(api_connection, "MAX_BODY", 100_000)

    async def body():
        while True:
            yield bytes(50_000)

    with pytest.raises(NotKubernetes, match="more than 100000 bytes"):
        asked(
            certificate,
            {f"GET {PODS}/x": lambda: Answer(200, body())},
            lambda it: it.get("pods", "x"),
        )


def test_a_log_is_its_end(certificate):
    text = "".join(f"line {number}\n" for number in range(1000)).encode()
    answers = {f"GET {PODS}/x/log": Answer(200, text)}
    found, server = asked(certificate, answers, lambda it: it.log("x", 100))
    assert found == text[-100:].decode()
    assert server.requests[0][2] == {"tailLines": "500", "limitBytes": "1600"}


def test_a_server_with_another_certificate_is_not_trusted(certificate, other_certificate):
    authority = other_certificate.with_name("certificate.pem.crt").read_text()
    with pytest.raises(Untrusted, match="is not trusted") as caught:
        asked(certificate, {}, lambda it: it.get("pods", "x"), authority=authority)
    assert not caught.value.is_retryable


def test_nobody_there_may_be_tried_again(certificate):
    with pytest.raises(Unreachable, match="refused") as caught:
        asked(certificate, {}, lambda it: it.get("pods", "x"), server="https://127.0.0.1:1")
    assert (caught.value.is_retryable, caught.value.exit_code) == (True, 69)


def test_a_name_and_its_password_are_sent(certificate):
    login = Login(username="me", password=Secret("word"))
    answers = {f"GET {PODS}/x": answer(200, POD)}
    _, server = asked(certificate, answers, lambda it: it.get("pods", "x"), login=login)
    assert server.headers[0]["authorization"] == "Basic bWU6d29yZA=="


def test_only_some_questions_are_under_way_at_once(certificate):
    most = now = 0
    enough = asyncio.Event()

    async def body():
        nonlocal most, now
        now += 1
        most = max(most, now)
        if now == client.AT_ONCE:
            enough.set()
        await enough.wait()
        await asyncio.sleep(0.01)  # the time in which one more could come
        yield b"{}"
        now -= 1

    async def ask(ours):
        await asyncio.gather(*(ours.get("pods", "x") for _ in range(60)))

    asked(certificate, {f"GET {PODS}/x": lambda: Answer(200, body())}, ask)
    assert most == client.AT_ONCE
