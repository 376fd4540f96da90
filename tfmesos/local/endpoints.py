"""The HTTP face of the master: the scheduler API, and a few operator endpoints."""

from __future__ import annotations

from contextlib import suppress
from urllib.parse import parse_qs

from aiohttp import web

from ..json_types import Json
from ..mesos import recordio
from . import answers, views
from .answers import JSON, as_json, text
from .auth import Auth
from .calls import SUPPORTED_CALLS, Malformed, parse
from .entities import Framework
from .files import Files
from .master import Master

MAX_BODY = 128 * 1024 * 1024  # bytes; an ACCEPT of 10,000 tasks with 5 KiB each is 50 MiB
_PROTOBUF = "application/x-protobuf"
_ONLY_JSON = f"the embedded Mesos does not speak {_PROTOBUF}; use {JSON}"
_ACCEPTABLE = {"*/*", "application/*", JSON}


def application(master: Master, credential: tuple[str, str] | None, auth: Auth) -> web.Application:
    app = web.Application(client_max_size=MAX_BODY, middlewares=[auth.only_under_our_names])
    app.on_response_prepare.append(answers.only_the_headers_of_mesos)
    Endpoints(master, credential and credential[0], auth).register(app.router)
    return app


class Endpoints:
    def __init__(self, master: Master, principal: str | None, auth: Auth) -> None:
        self._master, self._principal, self._auth = master, principal, auth
        self._files = Files(lambda framework_id, task_id: master.sandbox_of(task_id, framework_id))

    def register(self, router: web.UrlDispatcher) -> None:
        for prefix in ("", "/master"):
            for slash in ("", "/"):
                router.add_route("*", f"{prefix}/api/v1/scheduler{slash}", self.scheduler)
            router.add_get(f"{prefix}/health", self.health)
            router.add_get(f"{prefix}/redirect", self.redirect)
            router.add_post(f"{prefix}/teardown", self.teardown)
            for name in views.NAMES:
                router.add_get(f"{prefix}/{name}", self.view)
        router.add_get("/version", self.version)
        for name in ("browse", "read", "download"):
            router.add_get(f"/files/{name}", self.files)
        router.add_route("*", "/{path:.*}", self.not_found)

    async def scheduler(self, request: web.Request) -> web.StreamResponse:
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

    async def _body(self, request: web.Request) -> bytes:
        try:
            return await request.read()
        except web.HTTPRequestEntityTooLarge:
            # It may have been an ACCEPT: nobody would get what its offers hold.
            self._master.take_back(request.headers.get("Mesos-Stream-Id", ""))
            raise

    async def _subscribe(self, request: web.Request, call: Json) -> web.StreamResponse:
        if refusal := _accept_refusal(request):
            return refusal
        if "Mesos-Stream-Id" in request.headers:
            raise Malformed("Subscribe calls should not include the 'Mesos-Stream-Id' header")
        self._check_principal(call["subscribe"]["framework_info"])
        with self._master.stream() as stream:
            headers = {"Mesos-Stream-Id": stream.id, "Content-Type": JSON}
            response = web.StreamResponse(headers=headers)
            response.enable_chunked_encoding()
            await response.prepare(request)
            stream.connection = request.transport
            self._master.subscribe(call, stream, self._principal)
            with suppress(ConnectionError):  # it has gone, and comes back or does not
                async for record in stream.records():
                    await response.write(recordio.encode(record))
                await response.write_eof()
        return response

    def _call(self, request: web.Request, call: Json) -> web.Response:
        framework = self._master.state.frameworks.get(call["framework_id"]["value"])
        if framework is None or framework.recovered:
            raise Malformed("Framework cannot be found")
        if framework.stream is None:
            return text(403, "Framework is not subscribed")
        _check_stream_id(request, framework)
        if call["type"] not in SUPPORTED_CALLS:
            return text(501, f"The embedded Mesos does not know the call {call['type']}")
        self._master.handle(framework, call)
        return web.Response(status=202)

    def _check_principal(self, info: Json) -> None:
        mine, claimed = self._principal, info.get("principal")
        if mine and claimed and mine != claimed:
            raise Malformed(
                f"Failed to validate scheduler::Call: Authenticated principal '{mine}' does not "
                f"match principal '{claimed}' set in `FrameworkInfo`"
            )

    async def teardown(self, request: web.Request) -> web.Response:
        if refusal := self._auth.refusal(request, "mesos-master-readwrite"):
            return refusal
        form = parse_qs((await request.read()).decode(errors="replace"))
        framework_id = form.get("frameworkId", [""])[0]
        if framework_id not in self._master.state.frameworks:
            return text(400, "No framework found with specified ID")
        self._master.run(self._master.state.teardown(framework_id, self._master.now()))
        return web.Response()

    async def view(self, request: web.Request) -> web.Response:
        if refusal := self._auth.refusal(request, "mesos-master-readonly"):
            return refusal
        name = request.path.rpartition("/")[2]
        return as_json(views.view(name, self._master.state, self._master.containers.sandbox))

    async def files(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._auth.refusal(request, "mesos-agent-readonly"):
            return refusal
        return await self._files.answer(request)

    async def health(self, _request: web.Request) -> web.Response:
        return web.Response()

    async def version(self, _request: web.Request) -> web.Response:
        return as_json(views.VERSION)

    async def redirect(self, _request: web.Request) -> web.Response:
        address = self._master.state.info["address"]
        return web.Response(
            status=307, headers={"Location": f"//{address['hostname']}:{address['port']}"}
        )

    async def not_found(self, _request: web.Request) -> web.Response:
        return text(404, "404 Not Found.")


def _check_stream_id(request: web.Request, framework: Framework) -> None:
    given = request.headers.get("Mesos-Stream-Id")
    if given is None:
        raise Malformed("All non-subscribe calls should include the 'Mesos-Stream-Id' header")
    if given != framework.stream:
        raise Malformed(
            f"The stream ID '{given}' included in this request didn't match "
            f"the stream ID currently associated with framework ID {framework.id}"
        )


def _media_type_refusal(request: web.Request) -> web.Response | None:
    given = request.headers.get("Content-Type")
    if given is None:
        return text(400, "Expecting 'Content-Type' to be present")
    if given == _PROTOBUF:
        return text(415, f"Expecting 'Content-Type' of {JSON}: {_ONLY_JSON}")
    if given != JSON:
        return text(415, f"Expecting 'Content-Type' of {JSON} or {_PROTOBUF}")
    return None


def _accept_refusal(request: web.Request) -> web.Response | None:
    given = request.headers.get("Accept", JSON)
    types = {part.partition(";")[0].strip() for part in given.split(",")}
    if types & _ACCEPTABLE:
        return None
    if _PROTOBUF in types:
        return text(406, f"Expecting 'Accept' to allow '{JSON}': {_ONLY_JSON}")
    return text(406, f"Expecting 'Accept' to allow '{_PROTOBUF}' or '{JSON}'")
