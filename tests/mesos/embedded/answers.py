"""Answers as a Mesos gives them."""

from __future__ import annotations

import json
from typing import Any

from tfmesos.http.server import Answer, text

JSON = "application/json"


def as_json(value: Any) -> Answer:
    body = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return Answer(200, body, {"Content-Type": JSON})


def unauthorized(realm: str) -> Answer:
    return text(401, "401 Unauthorized.", {"WWW-Authenticate": f'Basic realm="{realm}"'})


def method_not_allowed(method: str) -> Answer:
    words = f"405 Method Not Allowed. Expecting one of {{ 'POST' }}, but received '{method}'."
    return text(405, words, {"Allow": "POST"})
