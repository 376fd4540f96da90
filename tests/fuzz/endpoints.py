"""The embedded master over real HTTP: no request makes it fail, hang or forget itself."""

from __future__ import annotations

import base64
import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode, urlsplit

from hypothesis import strategies as st

from tests.bounds import HANG
from tests.chaos.stage import Background, background
from tests.mesos.embedded import AgentConfig, LocalMesos
from tests.mesos.embedded.tests.wire import framework, task

from .strategies import JSON, nearly
from .targets import Target

_ID = {"value": "0000"}
CALLS = [
    {"type": "SUBSCRIBE", "subscribe": {"framework_info": framework()}},
    {
        "type": "SUBSCRIBE",
        "framework_id": _ID,
        "subscribe": {"framework_info": framework(id=_ID), "suppressed_roles": ["*"]},
    },
    {
        "type": "ACCEPT",
        "framework_id": _ID,
        "accept": {
            "offer_ids": [{"value": "o"}],
            "operations": [
                {
                    "type": "LAUNCH",
                    "launch": {"task_infos": [{**task("t", "true"), "agent_id": _ID}]},
                }
            ],
            "filters": {"refuse_seconds": 1.0},
        },
    },
    {"type": "DECLINE", "framework_id": _ID, "decline": {"offer_ids": [{"value": "o"}]}},
    {"type": "REVIVE", "framework_id": _ID},
    {"type": "SUPPRESS", "framework_id": _ID, "suppress": {"roles": ["*"]}},
    {"type": "KILL", "framework_id": _ID, "kill": {"task_id": {"value": "t"}}},
    {
        "type": "ACKNOWLEDGE",
        "framework_id": _ID,
        "acknowledge": {"agent_id": _ID, "task_id": _ID, "uuid": "AAAAAAAAAAAAAAAAAAAAAA=="},
    },
    {"type": "RECONCILE", "framework_id": _ID, "reconcile": {"tasks": [{"task_id": _ID}]}},
    {"type": "TEARDOWN", "framework_id": _ID},
]
PATHS = [
    "/api/v1/scheduler",
    "/master/api/v1/scheduler/",
    "/state",
    "/master/slaves",
    "/frameworks",
    "/tasks",
    "/health",
    "/version",
    "/redirect",
    "/teardown",
    "/files/read?path=/frameworks/a/executors/b/runs/latest/stdout&offset=0&length=5",
    "/%00/..//state?x=%ff",
]
_LATIN = st.characters(codec="latin-1", exclude_characters="\r\n\0")
_HEADERS = st.dictionaries(
    st.sampled_from(["Authorization", "Accept", "Content-Type", "Mesos-Stream-Id", "X"]),
    st.one_of(
        st.text(_LATIN, max_size=12),
        st.sampled_from(
            ["application/json", "application/x-protobuf", "*/*", "Basic \xe9", "Basic YTpi"]
        ),
    ),
    max_size=3,
)
CREDENTIAL = ("fuzzer", "secret")
AUTHORIZED = {
    "Authorization": "Basic " + base64.b64encode(":".join(CREDENTIAL).encode()).decode(),
    "Content-Type": "application/json",
    "Accept": "application/json",
}
_USUAL = st.just(AUTHORIZED)
_QUERY = st.tuples(
    st.sampled_from(["path", "offset", "length"]),
    st.text(_LATIN, max_size=8) | st.integers().map(str),
)


class Request(dict[str, Any]):
    """Method, path, headers and body of a request."""


REQUESTS = st.one_of(
    st.builds(
        Request,
        method=st.just("POST"),
        path=st.just("/api/v1/scheduler"),
        headers=_USUAL,
        body=nearly(CALLS).map(lambda call: json.dumps(call).encode()),
        chain=st.lists(nearly(CALLS[2:], changes=2), max_size=3),
    ),
    st.builds(
        Request,
        method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS"]),
        path=st.one_of(
            st.sampled_from(PATHS),
            st.lists(_QUERY, max_size=3).map(
                lambda pairs: "/files/read?" + "&".join(f"{k}={v}" for k, v in pairs)
            ),
        ),
        headers=st.one_of(_USUAL, _HEADERS),
        body=st.one_of(st.binary(max_size=40), JSON.map(lambda value: json.dumps(value).encode())),
        chain=st.just([]),
    ),
)


class Client:
    """Sends a request, and follows a subscription with calls that know its ids."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 0

    def check(self, request: Request) -> None:
        connection = self._connect()
        try:
            status = self._send(connection, request, request["headers"])
            answer = connection.getresponse() if status is None else None
            if answer is None:
                return
            assert answer.status < 500 or answer.status == 501, f"{answer.status}: {answer.read()}"
            is_subscribed = answer.status == 200 and "Mesos-Stream-Id" in answer.headers
            if is_subscribed and request["chain"]:
                self._go_on(answer, request["chain"])
        finally:
            connection.close()
        self._is_well()

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=HANG)

    def _send(
        self, connection: http.client.HTTPConnection, request: Request, headers: dict[str, str]
    ) -> str | None:
        """None if it was sent; else why our own side would not."""
        try:
            path = request["path"].encode("latin-1", "replace").decode("latin-1")
            connection.putrequest(request["method"], path.replace(" ", "+") or "/")
            for name, value in headers.items():
                connection.putheader(name, value.encode("latin-1", "replace"))
            connection.putheader("Content-Length", str(len(request["body"])))
            connection.endheaders(request["body"])
        except (ValueError, http.client.HTTPException) as error:
            return str(error)
        return None

    def _go_on(self, answer: http.client.HTTPResponse, calls: list[Any]) -> None:
        """The ids of the subscription and of its first offer go where the calls have ids."""
        ids: dict[str, Any] = {}
        stream = answer.headers["Mesos-Stream-Id"]
        answer.fp.raw._sock.settimeout(0.2)  # an offer comes at once or not at all
        try:
            while "offer" not in ids:
                record = json.loads(answer.read(int(answer.readline())))
                if record["type"] == "SUBSCRIBED":
                    ids["framework"] = record["subscribed"]["framework_id"]
                elif record["type"] == "OFFERS":
                    ids["offer"] = record["offers"]["offers"][0]
        except (TimeoutError, ValueError):
            pass
        for call in calls:
            self._call(stream, _with_ids(call, ids))

    def _call(self, stream: str, call: Any) -> None:
        connection = self._connect()
        try:
            body = json.dumps(call).encode()
            headers = {**AUTHORIZED, "Mesos-Stream-Id": stream}
            connection.request("POST", "/api/v1/scheduler", body, headers)
            answer = connection.getresponse()
            assert answer.status < 500 or answer.status == 501, f"{answer.status}: {call}"
        finally:
            connection.close()

    def _is_well(self) -> None:
        """It tells of itself, and forgets the frameworks we made when it is told to."""
        state = self._ask("GET", "/state")
        assert state["slaves"]
        for each in state["frameworks"]:
            self._ask("POST", "/teardown", urlencode({"frameworkId": each["id"]}).encode())

    def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        connection = self._connect()
        try:
            connection.request(method, path, body, AUTHORIZED)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 200, f"{method} {path}: {answer.status} {text!r}"
            return json.loads(text) if text else None
        finally:
            connection.close()


def _with_ids(call: Any, ids: dict[str, Any]) -> Any:
    if not isinstance(call, dict) or "framework" not in ids:
        return call
    call = {**call, "framework_id": ids["framework"]}
    accept = call.get("accept")
    if isinstance(accept, dict) and "offer" in ids:
        accept["offer_ids"] = [ids["offer"]["id"]]
        text = json.dumps(accept).replace(json.dumps(_ID), json.dumps(ids["offer"]["agent_id"]))
        call["accept"] = json.loads(text)
    return call


@contextmanager
def fuzzed_endpoints() -> Iterator[Target]:
    """An embedded Mesos that stands while the block lasts, and the fuzzer of its endpoints."""
    with background() as here:
        yield Target(REQUESTS, Client(_stand(here)).check)


def _stand(here: Background) -> str:
    agents = [AgentConfig("node-1", "cpus:4;mem:4096;ports:[31000-31009]")]
    return here.enter(LocalMesos(agents, credential=CREDENTIAL)).url
