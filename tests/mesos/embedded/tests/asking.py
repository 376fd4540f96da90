"""Asks an embedded Mesos over HTTP."""

from __future__ import annotations

import asyncio
import base64

from tests.mesos.embedded import AgentConfig, LocalMesos

from .wire import JSON_HEADERS, Connection

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
