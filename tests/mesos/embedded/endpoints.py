"""The HTTP face of the master: the scheduler API, and a few operator endpoints."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from urllib.parse import parse_qs

from tfmesos.engines.mesos.api import recordio
from tfmesos.http.connection import TooLarge
from tfmesos.http.server import Answer, Handler, Request, text
from tfmesos.json_types import Json

from . import answers, views
from .answers import JSON, as_json
from .auth import Auth
from .calls import SUPPORTED_CALLS, Malformed, parse
from .entities import Framework
from .files import Files
from .master import Master, Stream

MAX_BODY = 128 * 1024 * 1024  # bytes; an ACCEPT of 10,000 tasks with 5 KiB each is 50 MiB
MAX_FORM = 64 * 1024  # bytes
_PROTOBUF = "application/x-protobuf"
_ONLY_JSON = f"the embedded Mesos does not speak {_PROTOBUF}; use {JSON}"
_ACCEPTABLE = {"*/*", "application/*", JSON}
_READING = ("GET", "HEAD")


class Endpoints:
    def __init__(self, master: Master, principal: str | None, auth: Auth) -> None:
        self._master, self._principal, self._auth = master, principal, auth
        self._files = Files(lambda f, task_id: master.sandbox_of(task_id, f), master.sandbox_at)
        self._readers = dict(self._all_readers())

    async def answer(self, request: Request) -> Answer:
        if refusal := self._auth.refusal_of_name(request):
            return refusal
        path = request.path.removeprefix("/master")
        if path.removesuffix("/") == "/api/v1/scheduler":
            return await self.scheduler(request)
        if path == "/teardown" and request.method == "POST":
            return await self.teardown(request)
        if request.path in self._readers and request.method in _READING:
            return await self._readers[request.path](request)
        return text(404, "404 Not Found.")

    def _all_readers(self) -> Iterator[tuple[str, Handler]]:
        yield "/version", self.version
        for name in ("browse", "read", "download"):
            yield f"/files/{name}", self.files
        for prefix in ("", "/master"):
            yield f"{prefix}/health", self.health
            yield f"{prefix}/redirect", self.redirect
            for name in views.NAMES:
                yield f"{prefix}/{name}", self.view

    async def scheduler(self, request: Request) -> Answer:
        if refusal := self._auth.refusal(request, "mesos-master-scheduler"):
            return refusal
        if request.method != "POST":
            return answers.method_not_allowed(request.method)
        try:
            if refusal := _media_type_refusal(request):
                return refusal
            call = parse(await self._body(request))
            if call["type"] == "SUBSCRIBE":
                return await self._subscribe(request, call)
            return self._call(request, call)
        except Malformed as error:
            return text(400, str(error))

    async def _body(self, request: Request) -> bytes:
        try:
            return await request.body(MAX_BODY)
        except TooLarge:
            # It may have been an ACCEPT: nobody would get what its offers hold.
            self._master.take_back(request.headers.get("mesos-stream-id", ""))
            raise

    async def _subscribe(self, request: Request, call: Json) -> Answer:
        if refusal := _accept_refusal(request):
            return refusal
        if "mesos-stream-id" in request.headers:
            raise Malformed("Subscribe calls should not include the 'Mesos-Stream-Id' header")
        self._check_principal(call["subscribe"]["framework_info"])
        stream = Stream()
        events = self._events(request, call, stream)
        return Answer(200, events, {"Mesos-Stream-Id": stream.id, "Content-Type": JSON})

    async def _events(
        self, request: Request, call: Json, stream: Stream
    ) -> AsyncGenerator[bytes, None]:
        with self._master.streaming(stream):
            stream.connection = request.stream.transport
            self._master.subscribe(call, stream, self._principal)
            async for record in stream.records():
                yield recordio.encode(record)

    def _call(self, request: Request, call: Json) -> Answer:
        framework = self._master.state.frameworks.get(call["framework_id"]["value"])
        if framework is None or framework.recovered:
            raise Malformed("Framework cannot be found")
        if framework.stream is None:
            return text(403, "Framework is not subscribed")
        _check_stream_id(request, framework)
        if call["type"] not in SUPPORTED_CALLS:
            return text(501, f"The embedded Mesos does not know the call {call['type']}")
        self._master.handle(framework, call)
        return Answer(202)

    def _check_principal(self, info: Json) -> None:
        mine, claimed = self._principal, info.get("principal")
        if mine and claimed and mine != claimed:
            raise Malformed(
                f"Failed to validate scheduler::Call: Authenticated principal '{mine}' does not "
                f"match principal '{claimed}' set in `FrameworkInfo`"
            )

    async def teardown(self, request: Request) -> Answer:
        if refusal := self._auth.refusal(request, "mesos-master-readwrite"):
            return refusal
        form = parse_qs((await request.body(MAX_FORM)).decode(errors="replace"))
        framework_id = form.get("frameworkId", [""])[0]
        if framework_id not in self._master.state.frameworks:
            return text(400, "No framework found with specified ID")
        self._master.run(self._master.state.teardown(framework_id, self._master.now()))
        return Answer()

    async def view(self, request: Request) -> Answer:
        if refusal := self._auth.refusal(request, "mesos-master-readonly"):
            return refusal
        name = request.path.rpartition("/")[2]
        return as_json(views.view(name, self._master.state, self._master.containers.sandbox))

    async def files(self, request: Request) -> Answer:
        if refusal := self._auth.refusal(request, "mesos-agent-readonly"):
            return refusal
        return await self._files.answer(request)

    async def health(self, _request: Request) -> Answer:
        return Answer()

    async def version(self, _request: Request) -> Answer:
        return as_json(views.VERSION)

    async def redirect(self, _request: Request) -> Answer:
        address = self._master.state.info["address"]
        return Answer(307, headers={"Location": f"//{address['hostname']}:{address['port']}"})


def _check_stream_id(request: Request, framework: Framework) -> None:
    given = request.headers.get("mesos-stream-id")
    if given is None:
        raise Malformed("All non-subscribe calls should include the 'Mesos-Stream-Id' header")
    if given != framework.stream:
        raise Malformed(
            f"The stream ID '{given}' included in this request didn't match "
            f"the stream ID currently associated with framework ID {framework.id}"
        )


def _media_type_refusal(request: Request) -> Answer | None:
    given = request.headers.get("content-type")
    if given is None:
        return text(400, "Expecting 'Content-Type' to be present")
    if given == _PROTOBUF:
        return text(415, f"Expecting 'Content-Type' of {JSON}: {_ONLY_JSON}")
    if given != JSON:
        return text(415, f"Expecting 'Content-Type' of {JSON} or {_PROTOBUF}")
    if request.headers.get("content-encoding", "identity") != "identity":
        return text(415, "the embedded Mesos unpacks nothing; send the call as it is")
    return None


def _accept_refusal(request: Request) -> Answer | None:
    given = request.headers.get("accept", JSON)
    types = {part.partition(";")[0].strip() for part in given.split(",")}
    if types & _ACCEPTABLE:
        return None
    if _PROTOBUF in types:
        return text(406, f"Expecting 'Accept' to allow '{JSON}': {_ONLY_JSON}")
    return text(406, f"Expecting 'Accept' to allow '{_PROTOBUF}' or '{JSON}'")
