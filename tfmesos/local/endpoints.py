"""The HTTP face of the master: the scheduler API, and a few operator endpoints."""

from __future__ import annotations

import base64
import hmac
import json
import re
from urllib.parse import parse_qs

from aiohttp import web

from .. import recordio
from . import views
from .calls import SUPPORTED_CALLS, Malformed, parse
from .master import Master
from .records import Framework
from .resources import Json

MAX_BODY = 64 * 1024 * 1024  # bytes; an ACCEPT of hundreds of tasks is a few MB
MAX_READ = 64 * 1024  # bytes of one answer
_OUTPUT = re.compile(r"/frameworks/([^/]+)/executors/([^/]+)/runs/latest/(stdout|stderr)")
_JSON, _PROTOBUF = "application/json", "application/x-protobuf"
_ACCEPTABLE = {"*/*", "application/*", _JSON}


def application(master: Master, credential: tuple[str, str] | None) -> web.Application:
    app = web.Application(client_max_size=MAX_BODY)
    app.on_response_prepare.append(_only_the_headers_of_mesos)
    Endpoints(master, credential).register(app.router)
    return app


class Endpoints:
    def __init__(self, master: Master, credential: tuple[str, str] | None) -> None:
        self._master = master
        self._credential = credential

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
        router.add_get("/files/read", self.read_file)
        router.add_route("*", "/{path:.*}", self.not_found)

    async def scheduler(self, request: web.Request) -> web.StreamResponse:
        if not self._authentic(request):
            return _unauthorized("mesos-master-scheduler")
        if request.method != "POST":
            return _method_not_allowed(request.method)
        try:
            if refusal := _media_type_refusal(request):
                return refusal
            call = parse(await request.read())
            if call["type"] == "SUBSCRIBE":
                return await self._subscribe(request, call)
            return self._call(request, call)
        except Malformed as error:
            return _text(400, str(error))

    async def _subscribe(self, request: web.Request, call: Json) -> web.StreamResponse:
        if not _accepts_json(request):
            types = f"'{_PROTOBUF}' or '{_JSON}'"
            return _text(406, f"Expecting 'Accept' to allow {types}")
        if "Mesos-Stream-Id" in request.headers:
            raise Malformed("Subscribe calls should not include the 'Mesos-Stream-Id' header")
        self._check_principal(call["subscribe"]["framework_info"])
        with self._master.stream() as stream:
            headers = {"Mesos-Stream-Id": stream.id, "Content-Type": _JSON}
            response = web.StreamResponse(headers=headers)
            response.enable_chunked_encoding()
            await response.prepare(request)
            stream.connection = request.transport
            self._master.subscribe(call, stream, self._credential and self._credential[0])
            async for record in stream.records():
                await response.write(recordio.encode(record))
        await response.write_eof()
        return response

    def _call(self, request: web.Request, call: Json) -> web.Response:
        framework = self._master.state.frameworks.get(call["framework_id"]["value"])
        if framework is None or framework.recovered:
            raise Malformed("Framework cannot be found")
        if framework.stream is None:
            return _text(403, "Framework is not subscribed")
        _check_stream_id(request, framework)
        if call["type"] not in SUPPORTED_CALLS:
            return _text(501, f"The embedded Mesos does not know the call {call['type']}")
        self._master.handle(framework, call)
        return web.Response(status=202)

    def _check_principal(self, info: Json) -> None:
        mine, claimed = self._credential and self._credential[0], info.get("principal")
        if mine and claimed and mine != claimed:
            raise Malformed(
                f"Failed to validate scheduler::Call: Authenticated principal '{mine}' does not "
                f"match principal '{claimed}' set in `FrameworkInfo`"
            )

    async def teardown(self, request: web.Request) -> web.Response:
        if not self._authentic(request):
            return _unauthorized("mesos-master-readwrite")
        form = parse_qs((await request.read()).decode(errors="replace"))
        framework_id = form.get("frameworkId", [""])[0]
        if framework_id not in self._master.state.frameworks:
            return _text(400, "No framework found with specified ID")
        self._master.run(self._master.state.teardown(framework_id, self._master.now()))
        return web.Response()

    async def view(self, request: web.Request) -> web.Response:
        if not self._authentic(request):
            return _unauthorized("mesos-master-readonly")
        name = request.path.rpartition("/")[2]
        return _json(views.view(name, self._master.state, self._master.containers.sandbox))

    async def read_file(self, request: web.Request) -> web.Response:
        """Output of a task in its sandbox, by the virtual path that agents have for it."""
        if not self._authentic(request):
            return _unauthorized("mesos-agent-readonly")
        found = _OUTPUT.fullmatch(request.query.get("path", ""))
        path = found and self._master.output_of(found[1], found[2], found[3])
        if not path or not path.is_file():
            return _text(404, "Failed to find the requested file.\n")
        offset, length = (_number(request.query.get(name)) for name in ("offset", "length"))
        if offset < 0:
            return _json({"data": "", "offset": path.stat().st_size})
        with path.open("rb") as file:
            file.seek(min(offset, path.stat().st_size))
            data = file.read(min(length, MAX_READ) if length >= 0 else MAX_READ)
        return _json({"data": data.decode(errors="replace"), "offset": offset})

    async def health(self, _request: web.Request) -> web.Response:
        return web.Response()

    async def version(self, _request: web.Request) -> web.Response:
        return _json(views.VERSION)

    async def redirect(self, _request: web.Request) -> web.Response:
        address = self._master.state.info["address"]
        return web.Response(
            status=307, headers={"Location": f"//{address['hostname']}:{address['port']}"}
        )

    async def not_found(self, _request: web.Request) -> web.Response:
        return _text(404, "404 Not Found.")

    def _authentic(self, request: web.Request) -> bool:
        if self._credential is None:
            return True
        wanted = ":".join(self._credential).encode()
        return hmac.compare_digest(_basic(request.headers.get("Authorization", "")), wanted)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() else -1


def _basic(header: str) -> bytes:
    scheme, _, encoded = header.partition(" ")
    try:
        return base64.b64decode(encoded) if scheme.lower() == "basic" else b""
    except ValueError:
        return b""


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
        return _text(400, "Expecting 'Content-Type' to be present")
    if given == _PROTOBUF:
        return _text(400, "Failed to parse body into Call protobuf")
    if given != _JSON:
        return _text(415, f"Expecting 'Content-Type' of {_JSON} or {_PROTOBUF}")
    return None


def _accepts_json(request: web.Request) -> bool:
    given = request.headers.get("Accept", _JSON)
    return any(part.partition(";")[0].strip() in _ACCEPTABLE for part in given.split(","))


def _method_not_allowed(method: str) -> web.Response:
    text = f"405 Method Not Allowed. Expecting one of {{ 'POST' }}, but received '{method}'."
    response = _text(405, text)
    response.headers["Allow"] = "POST"
    return response


def _unauthorized(realm: str) -> web.Response:
    response = _text(401, "401 Unauthorized.")
    response.headers["WWW-Authenticate"] = f'Basic realm="{realm}"'
    return response


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text)


def _json(value: Json) -> web.Response:
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return web.Response(body=body, content_type=_JSON)


async def _only_the_headers_of_mesos(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)
    if response.content_length == 0:
        response.headers.popall("Content-Type", None)
