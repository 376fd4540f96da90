"""What becomes of the pods of a run: listed once, then watched; listed again after a break."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ..json_types import Json
from . import events as happened
from . import objects
from .api_error import ApiError
from .client import Client, Expired
from .objects import Owner
from .pod_status import PodSeen, read

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between two attempts to find the server again


class PodWatch:
    """*seen* gets each pod beside the event."""

    def __init__(
        self,
        client: Client,
        owner: Owner,
        emit: Callable[[happened.KubernetesEvent], None],
        seen: Callable[[PodSeen, bool], None],
    ) -> None:
        self._client, self._owner, self._emit, self._seen = client, owner, emit, seen
        self._selector = f"{objects.RUN}={owner.name}"
        self._prefix = objects.pod_name(owner, "")

    async def run(self, version: str) -> None:
        """Emit all that happens after *version*, until cancelled; ApiError if we may not look."""
        while True:
            try:
                version = await self._watch(version)
            except Expired:
                version = await self._list_again()
            except ApiError as error:
                if not error.is_retryable:
                    raise
                self._emit(happened.Disconnected(str(error)))
                version = await self._list_again()

    async def _watch(self, version: str) -> str:
        """The version up to which all is known, when the server has ended the watch in order."""
        async for kind, found in self._client.watch("pods", self._selector, version):
            metadata = found.get("metadata") or {}
            version = str(metadata.get("resourceVersion") or version)
            if kind in ("ADDED", "MODIFIED", "DELETED"):
                self._changed(found, is_gone=kind == "DELETED")
        return version

    def _changed(self, found: Json, is_gone: bool) -> None:
        pod = self._read(found)
        self._seen(pod, is_gone)
        self._emit(happened.PodChanged(pod))
        if is_gone:
            self._emit(happened.PodGone(pod.name))

    def _read(self, found: Json) -> PodSeen:
        pod = read(found)
        return pod.but(name=pod.name.removeprefix(self._prefix))

    async def _list_again(self) -> str:
        pause = FIRST_PAUSE
        while True:
            try:
                found, version = await self._client.list("pods", self._selector)
                break
            except ApiError as error:
                if not error.is_retryable:
                    raise
                self._emit(happened.Disconnected(str(error)))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        self._emit(happened.Reconnected())
        pods = tuple(map(self._read, found))
        for pod in pods:
            self._seen(pod, False)
        self._emit(happened.PodsListed(pods))
        return version
