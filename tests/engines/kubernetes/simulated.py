"""An API server that keeps its objects in memory and runs no pods, over real sockets.

It is faster than a genuine one and does what a test wants of it. Pods are scheduled at once.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
from collections.abc import AsyncGenerator
from typing import Any

from tfmesos.http.server import Answer, Request

BEGAN = "2026-11-17T02:00:00Z"
_PATH = re.compile(r"/api/v1/namespaces/([^/]+)/([a-z]+)(?:/([^/]+))?(?:/([a-z]+))?")


def status(code: int, reason: str, message: str, **details: Any) -> Answer:
    body = {"kind": "Status", "code": code, "reason": reason, "message": message}
    return answer(code, {**body, "details": details})


def answer(code: int, body: Any) -> Answer:
    return Answer(code, json.dumps(body).encode(), {"Content-Type": "application/json"})


class SimulatedApi:
    """``objects`` are those there are, by kind and name; ``refusals`` what is answered instead."""

    def __init__(self, schedules: bool = True) -> None:
        self.objects: dict[str, dict[str, Any]] = {"configmaps": {}, "secrets": {}, "pods": {}}
        self.refusals: dict[tuple[str, str], list[Answer]] = {}  # (method, kind)
        self.requests: list[tuple[str, str, str]] = []  # method, kind, name
        self.logs: dict[str, str] = {}
        self.workloads: dict[str, Answer] = {}  # of Kueue
        self.deleted: asyncio.Queue[str] = asyncio.Queue()
        self.expires = 0  # watches that end with 410
        self.breaks = 0  # watches that end in the middle of a line
        self._schedules = schedules
        self._version = itertools.count(1)
        self._events: list[tuple[int, str, Any]] = []
        self._news = asyncio.Event()

    async def handle(self, request: Request) -> Answer:
        body = await request.body(10_000_000)
        found = _PATH.fullmatch(request.path)
        if found is None:
            return self._of_cluster(request.path)
        _, kind, name, sub = found.groups()
        self.requests.append((request.method, kind, name or ""))
        if waiting := self.refusals.get((request.method, kind)):
            return waiting.pop(0)
        if sub == "log":
            return Answer(200, self.logs.get(name, "").encode(), {"Content-Type": "text/plain"})
        return self._answer(request, kind, name, json.loads(body) if body else {})

    def _of_cluster(self, path: str) -> Answer:
        if path.endswith("selfsubjectrulesreviews"):
            rule = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
            return answer(201, {"status": {"resourceRules": [rule]}})
        if path.startswith("/apis/kueue.x-k8s.io/v1beta1/"):
            return self.workloads.get(path.rpartition("/")[2]) or status(404, "NotFound", "none")
        return status(403, "Forbidden", "nodes is forbidden")

    def _answer(self, request: Request, kind: str, name: str, body: Any) -> Answer:
        if request.method == "POST":
            return self._create(kind, body)
        if request.method == "DELETE":
            return self._delete(kind, name)
        if request.method == "PATCH":
            return self._patch(kind, name, body)
        if request.query.get("watch"):
            return Answer(200, self._watch(int(request.query["resourceVersion"])))
        return self._list(kind, request.query.get("labelSelector", ""))

    def _list(self, kind: str, selector: str) -> Answer:
        wanted = dict(part.split("=") for part in selector.split(",") if part)
        items = [
            it
            for it in self.objects[kind].values()
            if wanted.items() <= it["metadata"].get("labels", {}).items()
        ]
        version = str(next(self._version))
        return answer(200, {"metadata": {"resourceVersion": version}, "items": items})

    def _create(self, kind: str, body: Any) -> Answer:
        name = body["metadata"]["name"]
        if name in self.objects[kind]:
            return status(409, "AlreadyExists", f"{kind} {name!r} already exists")
        body["metadata"] |= {"uid": f"uid-of-{name}", "creationTimestamp": BEGAN}
        self.objects[kind][name] = body
        if kind == "pods":
            body["status"] = {"phase": "Pending"}
            self._tell("ADDED", body)
            if self._schedules:
                body["spec"]["nodeName"] = "node-1"
                self._tell("MODIFIED", body)
        return answer(201, body)

    def _delete(self, kind: str, name: str) -> Answer:
        found = self.objects[kind].pop(name, None)
        if found is None:
            return status(404, "NotFound", f"{kind} {name!r} not found", kind=kind)
        self.deleted.put_nowait(name)
        if kind == "pods":
            self._tell("DELETED", found)
        return answer(200, found)

    def _patch(self, kind: str, name: str, body: Any) -> Answer:
        metadata = self.objects[kind][name]["metadata"]
        metadata.setdefault("annotations", {}).update(body["metadata"]["annotations"])
        return answer(200, self.objects[kind][name])

    def change(self, name: str, **status: Any) -> None:
        """Something befalls a pod."""
        pod = self.objects["pods"][name]
        pod["status"] = {**pod["status"], **status}
        self._tell("MODIFIED", pod)

    def _tell(self, kind: str, pod: Any) -> None:
        version = next(self._version)
        pod["metadata"]["resourceVersion"] = str(version)
        self._events.append((version, kind, json.loads(json.dumps(pod))))
        self._news.set()

    async def _watch(self, version: int) -> AsyncGenerator[bytes, None]:
        if self.expires:
            self.expires -= 1
            gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
            yield json.dumps({"type": "ERROR", "object": gone}).encode() + b"\n"
            return
        at = 0
        while True:
            self._news.clear()
            for number, kind, pod in self._events[at:]:
                if number > version:
                    yield json.dumps({"type": kind, "object": pod}).encode() + b"\n"
            at = len(self._events)
            if self.breaks:
                self.breaks -= 1
                raise ConnectionError
            await self._news.wait()
