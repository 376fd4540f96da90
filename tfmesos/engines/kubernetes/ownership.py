"""The owner of all that a run makes: it shows that the run lives, and takes all with it.

The launcher renews it every minute. One that nobody has renewed for ten minutes, by the clock of
the server, belongs to a launcher that was killed; the next run of its user deletes it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import socket
from datetime import datetime, timedelta

from ...config.launch_config import LaunchConfig
from ...errors import TFMesosError
from ...json_types import Json
from . import objects
from .api.client import Client
from .api.error import ApiError
from .objects import Owner, label_value

log = logging.getLogger(__name__)

RENEW_EVERY = 60.0  # seconds
STALE_AFTER = timedelta(minutes=10)


class Ownership:
    def __init__(self, client: Client, config: LaunchConfig, run_id: str, links: str) -> None:
        self._client = client
        self._config = config
        self._run_id = run_id
        self._links = links
        self._name = run_id
        self._mark = secrets.token_hex(8)  # by which we know what we have made
        self._made_at = 0.0  # by our clock
        self._began: datetime | None = None  # the same moment, by that of the server

    async def create(self) -> Owner:
        """ApiError if it cannot be made. Another user may have a run of our name."""
        while True:
            try:
                made = await self._client.create("configmaps", self._body(self._name))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                found = await self._made_before(self._name)
                if found is None:
                    self._name = f"{self._run_id}-{secrets.token_hex(2)}"
                    continue
                made = found
            metadata = made.get("metadata") or {}
            self._made_at = asyncio.get_running_loop().time()
            self._began = _time(metadata.get("creationTimestamp"))
            return Owner(self._name, str(metadata.get("uid") or ""))

    async def _made_before(self, name: str) -> Json | None:
        """The owner that we have made, if the answer to that was lost."""
        found, _ = await self._client.list("configmaps", f"{objects.RUN}={name}")
        ours = [one for one in found if (one.get("data") or {}).get("attempt") == self._mark]
        return ours[0] if ours else None

    def _body(self, name: str) -> Json:
        body = objects.owner(self._config, name, socket.gethostname(), self._links)
        body["data"]["attempt"] = self._mark
        return body

    async def keep(self, owner: Owner) -> None:
        """Renew it until cancelled, and remove what nobody renews."""
        await self._remove_stale(owner)
        while True:
            await asyncio.sleep(RENEW_EVERY)
            try:
                await self._client.patch("configmaps", owner.name, objects.renewal(self._now()))
            except TFMesosError as error:
                log.debug("the owner was not renewed: %s", error)

    def _now(self) -> str:
        """By the clock of the server."""
        passed = asyncio.get_running_loop().time() - self._made_at
        began = self._began or datetime(1970, 1, 1)
        return (began + timedelta(seconds=passed)).strftime("%Y-%m-%dT%H:%M:%SZ")

    async def _remove_stale(self, ours: Owner) -> None:
        user = label_value(self._config.user)
        selector = f"app.kubernetes.io/managed-by=tfrun,{objects.USER}={user}"
        try:
            found, _ = await self._client.list("configmaps", selector)
            for one in found:
                name = str((one.get("metadata") or {}).get("name"))
                if name != ours.name and self._began and is_stale(one, self._began):
                    log.info("deleting what is left of %s, whose launcher is gone", name)
                    await self._client.delete("configmaps", name)
        except TFMesosError as error:
            log.debug("nothing was tidied up: %s", error)


def is_stale(owner: Json, now: datetime) -> bool:
    """Has nobody renewed it for too long? What does not tell is left alone."""
    metadata = owner.get("metadata") or {}
    renewed = (metadata.get("annotations") or {}).get(objects.RENEWED)
    last = _time(renewed) or _time(metadata.get("creationTimestamp"))
    return last is not None and now - last > STALE_AFTER


def _time(text: object) -> datetime | None:
    try:
        return datetime.strptime(str(text), "%Y-%m-%dT%H:%M:%SZ")
    except ValueError:
        return None
