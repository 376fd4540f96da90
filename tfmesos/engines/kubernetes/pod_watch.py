"""Follows the pods of a run: lists them once, then watches; lists again after a broken watch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from ...json_types import Json
from . import events as happened
from . import objects
from .api.client import Client, Expired
from .api.error import ApiError
from .objects import Owner
from .pod_status import PodSeen, read

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0  # seconds between two attempts to find the server again
SHORT = 1.0  # seconds of a watch after which there is a pause before the next one
NO_ROLES = 30.0  # seconds for which a server that has started again may not know yet what we may do


class PodWatch:
    """*seen* gets each pod beside the event."""

    def __init__(
        self,
        client: Client,
        owner: Owner,
        emit: Callable[[happened.KubernetesEvent], None],
        seen: Callable[[PodSeen, bool], None],
    ) -> None:
        self._client = client
        self._emit = emit
        self._seen = seen
        self._selector = f"{objects.RUN}={owner.name}"
        self._prefix = objects.pod_name(owner, "")
        self._has_watched = False

    async def run(self, version: str | None) -> None:
        """Emit all that happens after *version*, until cancelled; ApiError if we may not look.

        None: an earlier launcher watched, and nobody knows what has happened since.
        """
        clock, pause = asyncio.get_running_loop().time, FIRST_PAUSE
        if version is None:
            version = await self._list_again()
        while True:
            began = clock()
            version = await self._next_version(version)
            if clock() - began > SHORT:
                pause = FIRST_PAUSE
                continue
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    async def _next_version(self, version: str) -> str:
        """The version at the end of a watch that begins with *version*."""
        try:
            return await self._watch(version)
        except Expired:
            return await self._list_again()
        except ApiError as error:
            if not self._may_pass(error):
                raise
            self._emit(happened.Disconnected(error.message))
            return await self._list_again()

    def _may_pass(self, error: ApiError, waited: float = 0.0) -> bool:
        forbidden = error.code == 403 and self._has_watched and waited < NO_ROLES
        return error.is_retryable or forbidden

    async def _watch(self, version: str) -> str:
        """The version up to which all is known, once the server has ended the watch normally."""
        async for kind, found in self._client.watch("pods", self._selector, version):
            self._has_watched = True
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
        return pod.replace(name=pod.name.removeprefix(self._prefix))

    async def _list_again(self) -> str:
        pause, clock = FIRST_PAUSE, asyncio.get_running_loop().time
        began = clock()
        while True:
            try:
                found, version = await self._client.list("pods", self._selector)
                break
            except ApiError as error:
                if not self._may_pass(error, clock() - began):
                    raise
                self._emit(happened.Disconnected(error.message))
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)
        self._emit(happened.Reconnected())
        pods = tuple(map(self._read, found))
        for pod in pods:
            self._seen(pod, False)
        self._emit(happened.PodsListed(pods))
        return version
