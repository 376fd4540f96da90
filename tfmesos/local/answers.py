"""Answers as a Mesos gives them."""

from __future__ import annotations

import json
import logging
from typing import Any

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

JSON = "application/json"


def _is_our_fault(record: logging.LogRecord) -> bool:
    """Not what strangers say that is no HTTP: they are answered 400, and could fill any log."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


log = logging.getLogger(__name__)  # of the HTTP server
log.addFilter(_is_our_fault)


def text(status: int, words: str) -> web.Response:
    return web.Response(status=status, text=words)


def as_json(value: Any) -> web.Response:
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return web.Response(body=body, content_type=JSON)


def unauthorized(realm: str) -> web.Response:
    response = text(401, "401 Unauthorized.")
    response.headers["WWW-Authenticate"] = f'Basic realm="{realm}"'
    return response


def method_not_allowed(method: str) -> web.Response:
    words = f"405 Method Not Allowed. Expecting one of {{ 'POST' }}, but received '{method}'."
    response = text(405, words)
    response.headers["Allow"] = "POST"
    return response


async def only_the_headers_of_mesos(_request: web.Request, response: web.StreamResponse) -> None:
    response.headers.popall("Server", None)
    if response.content_length == 0:
        response.headers.popall("Content-Type", None)
