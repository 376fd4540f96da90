"""The object that owns everything a run creates, and shows that the run is alive.

Whoever holds the run renews it. One that nobody has renewed for ten minutes, or for longer if its
tasks wait longer for another launcher, belongs to nobody; the next run of its user deletes it. All
times are by the clock of the server.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ....boot_clock import since_boot
from ....errors import EngineError, TFMesosError
from ....json_types import Json
from ...api import Context
from .. import objects
from ..api.client import Client
from ..api.error import ApiError
from ..objects import Owner, label_value
from . import lease
from .lease import Holder

log = logging.getLogger(__name__)

RENEW_EVERY = 20.0  # seconds; a lease lasts for three of them
LOOK_EVERY = 2.0  # seconds, at a lease of another
STALE_AFTER = timedelta(minutes=10)
OWNER = "owner"  # the key of the run: name, mark and, once it is made, uid of its owner
LEAVING = "leaving"  # the key of the run that is the uid of an owner which we began to delete


class Ownership:
    """*links*: which side connects. *clock*: a laptop may be suspended while it holds a run."""

    def __init__(
        self,
        client: Client,
        context: Context,
        links: str,
        clock: Callable[[], float] = since_boot,
    ) -> None:
        self._client = client
        self._config = context.config
        self._run_id = context.run_id
        self._keys = context.keys
        self._say = context.say
        self._give_away = context.give_away
        self._links = links
        self._clock = clock
        known = (self._keys.get(OWNER) or "").split()
        self._name = known[0] if known else self._run_id
        # identifies what we have created
        self._mark = known[1] if known else secrets.token_hex(8)
        self.owner = Owner(self._name, known[2]) if len(known) > 2 else None
        where = f"{socket.gethostname()} (pid {os.getpid()})"
        self._us = Holder(self._keys.epoch, secrets.token_hex(4), where)
        # of the owner, and when we last saw that we hold it, by our clock
        self._version = ""
        self._seen_at = 0.0
        self._made_at = 0.0  # by our clock
        self._began: datetime | None = None  # the same moment, by that of the server

    async def create(self) -> Owner:
        """ApiError if it cannot be made. Another user may have a run of our name."""
        while True:
            self._keys.keep(OWNER, f"{self._name} {self._mark}")
            try:
                made = await self._client.create("configmaps", self._body(self._name))
            except ApiError as error:
                if error.reason != "AlreadyExists":
                    raise
                found = await self._made_before(self._name)
                if found is None:
                    self._name = f"{self._run_id}-{secrets.token_hex(2)}"
                    continue
                made = await self._claim(Owner(self._name, ""), found)
            self._seen(made)
            metadata = made.get("metadata") or {}
            self._began_at(lease.time_of(metadata.get("creationTimestamp")))
            self.owner = Owner(self._name, str(metadata.get("uid") or ""))
            self._keys.keep(OWNER, f"{self._name} {self._mark} {self.owner.uid}")
            return self.owner

    def _began_at(self, time: datetime | None) -> None:
        self._made_at = self._clock()
        self._began = time

    async def _made_before(self, name: str) -> Json | None:
        """The owner that we created, if the answer was lost."""
        found, _ = await self._client.list("configmaps", f"{objects.RUN}={name}")
        ours = [one for one in found if (one.get("data") or {}).get("attempt") == self._mark]
        return ours[0] if ours else None

    def _body(self, name: str) -> Json:
        body = objects.owner(self._config, name, socket.gethostname(), self._links)
        body["data"]["attempt"] = self._mark
        survive = f"{self._config.survive or 0:g}"
        body["metadata"]["annotations"] = {
            objects.HOLDER: str(self._us),
            objects.SURVIVE: survive,
        }
        return body

    # A take-over:

    async def find_again(self) -> None:
        """Hold what an earlier launcher created. EngineError if that is not possible."""
        if self.owner is None:
            return  # nobody knows whether there is one: create it
        is_said = False
        while True:
            found = await self._look(self.owner)
            if found is None:
                return  # the run has ended, except for its last record
            passed_over = {*self._keys.gone, self._us.epoch}  # ours: an answer was lost
            if not lease.is_fresh(found, passed_over, self._server_time()):
                await self._claim(self.owner, found)
                return
            holder = lease.holder_of(found)
            text = f"{holder and holder.name} holds it and was alive just now"
            if not self._config.resumes:
                raise EngineError(text)
            if not is_said:
                self._say(f"waiting: {text}", "notice")
            is_said = True
            await asyncio.sleep(LOOK_EVERY)

    async def _look(self, owner: Owner) -> Json | None:
        """None if an earlier launcher has deleted it, as it was about to."""
        found = await self._find(owner)
        if found is None:
            if self._keys.get(LEAVING) == owner.uid:
                return None
            where = f"namespace {self._client.namespace} at {self._client.server}"
            raise EngineError(f"the run is not in {where}: it is elsewhere or was deleted")
        self._began_at(self._server_time())
        if later := lease.successor(found, self._us):
            problem = f"a later launcher, {later.name}, has taken it over"
            raise EngineError(f"{problem}: this run directory is an old copy")
        return found

    def _server_time(self) -> datetime:
        return self._client.server_time or datetime.now(UTC).replace(tzinfo=None)

    async def _find(self, owner: Owner) -> Json | None:
        found = await self._made_before(owner.name)
        metadata = (found or {}).get("metadata") or {}
        is_it = metadata.get("uid") == owner.uid and not metadata.get("deletionTimestamp")
        return found if is_it else None

    async def _claim(self, owner: Owner, found: Json) -> Json:
        """Claim it, unless somebody else has changed it since we looked."""
        version = str(found["metadata"].get("resourceVersion") or "")
        try:
            return await self._patch(owner, objects.claim(self._now(), str(self._us), version))
        except ApiError as error:
            if error.reason == "Conflict":
                raise EngineError("another launcher is taking it over") from None
            raise

    async def _patch(self, owner: Owner, change: Json) -> Json:
        made = await self._client.patch("configmaps", owner.name, change)
        self._seen(made)
        return made

    def _seen(self, owner: Json) -> None:
        """This is what it was like when we held it."""
        self._seen_at = self._clock()
        self._version = str((owner.get("metadata") or {}).get("resourceVersion") or "")

    # While the run lives:

    async def keep(self, owner: Owner) -> None:
        """Renew it until cancelled, and remove what nobody renews."""
        await self._remove_stale(owner)
        while True:
            await asyncio.sleep(RENEW_EVERY)
            try:
                await self._renew(owner)
            except TFMesosError as error:
                log.debug("the owner was not renewed: %s", error)

    async def _renew(self, owner: Owner) -> None:
        try:
            await self._patch(owner, objects.renewal(self._now(), self._version))
        except ApiError as error:
            if error.reason != "Conflict":
                raise
            if await self._is_ours(owner):  # somebody else has written something into it
                await self._patch(owner, objects.renewal(self._now(), self._version))

    def leave(self, owner: Owner) -> None:
        """It is about to be deleted, and the run with it."""
        self._keys.keep(LEAVING, owner.uid)

    async def is_held(self, owner: Owner) -> bool:
        """Do we still hold the run? Another launcher may have taken it while we were stopped."""
        silent_for = self._clock() - self._seen_at
        return silent_for < lease.FRESH.total_seconds() or await self._is_ours(owner)

    async def _is_ours(self, owner: Owner) -> bool:
        found = await self._find(owner)
        if holder := lease.successor(found or {}, self._us):
            self._give_away(f"another launcher holds the run now: {holder.name}")
            return False
        self._seen(found or {})
        return True

    def _now(self) -> str:
        """By the clock of the server."""
        passed = self._clock() - self._made_at
        began = self._began or datetime(1970, 1, 1)
        return (began + timedelta(seconds=passed)).strftime(objects.TIME)

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
            log.debug("leftovers of other runs were not removed: %s", error)


def is_stale(owner: Json, now: datetime) -> bool:
    """Has nobody renewed it for too long? What does not tell is left alone."""
    last = lease.renewed_at(owner)
    return last is not None and now - last > STALE_AFTER + _survival(owner)


def _survival(owner: Json) -> timedelta:
    """How long its tasks wait for another launcher."""
    annotations = (owner.get("metadata") or {}).get("annotations") or {}
    try:
        return timedelta(seconds=float(annotations[objects.SURVIVE]))
    except (LookupError, ValueError, TypeError, OverflowError):
        return timedelta(0)
