"""The Mesos v1 scheduler API: subscribe, pass events on, make calls, reconnect after a loss.

Nothing here decides about tasks. ``MesosClient.run`` owns every connection: once it has ended, for
whatever reason, nothing is open any more.

Two decisions about safety. A redirect is followed with the credentials, as Mesos requires of its
clients, but never from https to http. Bodies are not logged: they hold the secrets of tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from ....awake_timeout import awake_timeout
from ....config.secret import Secret
from ....errors import MasterError
from ....http.client import Response, Session
from ....http.connection import HttpError
from ....json_types import Json
from ...own_address import UnknownHost
from . import call_json
from .answers import (
    NoSuchHost,
    Unreachable,
    all_in_one,
    base_of,
    check_subscribed,
    field_of,
    heartbeat_of,
    redirected,
    trouble_with,
)
from .auth import authorization
from .calls import Calls
from .masters import Masters
from .retries import Attempts, Timing
from .subscription import Lost, Subscription

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)


_PATH = "/api/v1/scheduler"
_AGENTS = "/master/slaves"
_FRAMEWORKS = "/master/frameworks"
_ROLES = "/master/roles"
_MAX_REDIRECTS = 5
_REMEMBERED_UPDATES = 10_000
_FAILED_OVER = "Framework failed over"  # what a master tells whoever subscribed before


class FailedOver(MasterError):
    """Another process has subscribed as this framework."""


class MesosClient:
    """One framework's connection to whichever master leads.

    *emit* gets each event as Mesos sent it, HEARTBEAT and repeated updates left out, and two of
    ours: ``DISCONNECTED`` with a ``reason`` for each loss, ``REFUSED`` with ``call``, ``reason``,
    ``task_ids`` for each call that the master refuses. SUBSCRIBED has the URL of the master under
    ``_master``. An update is acknowledged as soon as *emit* has returned.
    *on_state* gets a line for the user when an attempt fails for a new reason.
    """

    def __init__(
        self,
        masters: Masters,
        framework_info: Mapping[str, Any],
        emit: Callable[[Json], None],
        *,
        credential: tuple[str, Secret] | None = None,
        token: Secret | None = None,
        ssl_context: ssl.SSLContext | None = None,
        on_state: Callable[[str], None] = lambda line: None,
        timing: Timing | None = None,
    ) -> None:
        self.framework_id: str | None = None
        self.master = ""  # the URL of the one we were subscribed to last
        self._masters = masters
        self._info = dict(framework_info)
        self._emit = emit
        self._on_state = on_state
        self._credential = credential
        self._token = token
        self._ssl_context = ssl_context
        self._timing = timing or Timing()
        self._calls: Calls | None = None  # while subscribed
        self._seen: dict[str, None] = {}  # uuids of updates, oldest first
        self._running = self._tearing_down = self._torn_down = False
        self._said = ""  # the last line for on_state
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Subscribe, emit events and subscribe again after each loss, until torn down.

        Raises MasterError if no master is found in time or the master refuses us.
        """
        self._running = True
        try:
            async with self._http_session() as session:
                await self._stay_subscribed(session)
        finally:
            self._running = False
            self._ended.set()

    @property
    def _is_known(self) -> bool:
        """Do we authenticate?"""
        return self._credential is not None or self._token is not None

    @property
    def is_subscribed(self) -> bool:
        return self._calls is not None

    async def call(self, type: str, about: Sequence[str] = (), /, **body: Any) -> bool:
        """Make a call *about* tasks, after those made before it; False if it was not accepted.

        Never raises because of the network: while disconnected nothing is sent, and a call that
        gets lost ends the subscription, so that DISCONNECTED reports it.
        """
        if self._calls is None:
            log.debug("%s not sent: not subscribed", type)
            return False
        return await self._calls.post(type, self._payload(type, body), about)

    async def accept(
        self, offer_ids: Iterable[str], task_infos: Sequence[Json], refuse_seconds: float
    ) -> bool:
        """Launch *task_infos* on these offers, all of one agent."""
        return await self.call(
            "ACCEPT",
            [info["task_id"]["value"] for info in task_infos],
            **call_json.accept(offer_ids, task_infos, refuse_seconds),
        )

    async def decline(self, offer_ids: Iterable[str], refuse_seconds: float) -> bool:
        return await self.call("DECLINE", **call_json.decline(offer_ids, refuse_seconds))

    async def decline_inverse(self, offer_ids: Iterable[str], refuse_seconds: float) -> bool:
        body = call_json.decline(offer_ids, refuse_seconds, "inverse_offer_ids")
        return await self.call("DECLINE_INVERSE_OFFERS", **body)

    async def suppress(self) -> bool:
        return await self.call("SUPPRESS")

    async def revive(self) -> bool:
        return await self.call("REVIVE")

    async def agents(self) -> Any:
        """What the master says about its agents, as JSON; None if it does not tell us."""
        return None if self._calls is None else await self._calls.get(_AGENTS)

    async def frameworks(self) -> Any:
        """What the master says about its frameworks, likewise."""
        return None if self._calls is None else await self._calls.get(_FRAMEWORKS)

    async def roles(self) -> Any:
        """What the master says about roles and their quotas, likewise."""
        return None if self._calls is None else await self._calls.get(_ROLES)

    async def kill(self, task_id: str, agent_id: str | None = None) -> bool:
        return await self.call("KILL", [task_id], **call_json.task(task_id, agent_id))

    async def reconcile(self, tasks: Iterable[tuple[str, str | None]] = ()) -> bool:
        """Ask for the state of *tasks* (task id, agent id); of all that run if there are none."""
        return await self.call("RECONCILE", tasks=[call_json.task(*task) for task in tasks])

    async def all_answered(self) -> None:
        """Wait until all calls, acknowledgements among them, have been answered or lost."""
        if self._calls is not None:
            await self._calls.all_answered()

    async def teardown(self, within: float = 5.0) -> bool:
        """Have the master remove the framework and kill its tasks; ``run`` returns then.

        If the master is unreachable, it gets the call as soon as it is back. False if it did not
        confirm *within* that many seconds, or if there is nothing to tear down.
        """
        if not self._running or self.framework_id is None:
            return False
        self._tearing_down = True
        if self._calls:
            self._calls.close()  # what waits in the queue would only delay it
            self._calls.post("TEARDOWN", self._payload("TEARDOWN", {}))
        try:
            async with asyncio.timeout(within):
                await self._ended.wait()
        except TimeoutError:
            log.warning("the master did not confirm the teardown within %g s", within)
        return self._torn_down

    def _http_session(self) -> Session:
        types = {"Accept": "application/json", "Content-Type": "application/json"}
        headers = types | authorization(self._credential, self._token)
        return Session(headers, self._ssl_context, self._timing.connect)

    async def _stay_subscribed(self, session: Session) -> None:
        attempts = Attempts(self._timing, self._timing.give_up_after)
        while not self._torn_down:
            try:
                await self._try_each(session, attempts)
            except Lost as loss:
                log.info("lost the master: %s; subscribing again", loss)
                self._emit({"type": "DISCONNECTED", "reason": str(loss)})
                attempts = attempts.renewed(loss.lived)
                await asyncio.sleep(attempts.next_delay())
            except Unreachable as trouble:
                await asyncio.sleep(self._delay_after(trouble, attempts))

    async def _try_each(self, session: Session, attempts: Attempts) -> None:
        """Return after the teardown; raise Lost after a subscription, else Unreachable."""
        try:
            candidates = await self._masters.candidates()
        except MasterError as error:
            kind = NoSuchHost if isinstance(error, UnknownHost) else Unreachable
            raise kind(str(error)) from error
        troubles: list[Unreachable] = []
        for base in candidates:
            try:
                return await self._subscribe(session, base, attempts)
            except Unreachable as trouble:
                troubles.append(trouble)
        raise all_in_one(troubles)

    def _delay_after(self, trouble: Unreachable, attempts: Attempts) -> float:
        delay = attempts.next_delay()
        attempts.count_failure(trouble, subscribed_before=self.framework_id is not None)
        line = f"no Mesos master yet: {trouble}"
        if line != self._said:
            self._said = line
            self._on_state(line)
        log.info("%s; trying again in %.1f s", line, delay)
        return delay

    async def _subscribe(self, session: Session, base: str, attempts: Attempts) -> None:
        url, way = base + _PATH, [base]
        while len(way) <= _MAX_REDIRECTS + 1:
            async with self._asked(session, url, attempts.limit()) as response:
                if response.status not in (307, 308):
                    await check_subscribed(response, self._is_known)
                    return await self._stay(session, response)
                url = redirected(response)
                way.append(base_of(url))
        raise Unreachable(f"{base}: the masters redirect in a circle: {' -> '.join(way)}")

    @asynccontextmanager
    async def _asked(self, session: Session, url: str, limit: float) -> AsyncIterator[Response]:
        """The answer to SUBSCRIBE, closed together with its connection afterwards."""
        log.debug("SUBSCRIBE at %s", base_of(url))
        body = call_json.subscribe(self._info, self.framework_id)
        try:
            async with awake_timeout(limit):
                response = await session.ask("POST", url, body)
        except (HttpError, OSError) as error:
            way_to = self._masters.way_to
            raise await trouble_with(url, error, limit, way_to, self._ssl_context) from error
        try:
            yield response
        finally:
            response.close()

    async def _stay(self, session: Session, response: Response) -> None:
        """Read the events and send the calls of one subscription, until it ends."""
        calls = Calls(session, response, self._timing.answer, self._refused)
        subscription = Subscription(response, calls, self._timing.answer, self._take)
        try:
            await subscription.run(lambda: self._tearing_down)
        finally:
            self._calls = None
        self._torn_down = True

    def _refused(self, type: str, reason: str, task_ids: tuple[str, ...]) -> None:
        if type == "TEARDOWN":  # nobody listens to events any more
            log.warning("the master refused TEARDOWN (%s): tasks may keep running", reason)
            self._ended.set()
        else:
            event = {"type": "REFUSED", "call": type, "reason": reason, "task_ids": task_ids}
            self._emit(event)

    def _take(self, event: Json, subscription: Subscription) -> None:
        log.debug("received %s", event["type"])
        match event["type"]:
            case "HEARTBEAT":
                pass
            case "SUBSCRIBED":
                self._take_subscribed(event, subscription)
            case "UPDATE":
                self._take_update(event, subscription.calls)
            case "ERROR":
                self._take_error(event, subscription.calls)
            case _:
                self._emit(event)

    def _take_error(self, event: Json, calls: Calls) -> None:
        message = field_of(event, str, "error", "message")
        if not self._tearing_down:  # else it is gone already, which is what we want
            if message == _FAILED_OVER:
                raise FailedOver(message)
            raise MasterError(f"the master at {calls.base} reports an error: {message}")

    def _take_subscribed(self, event: Json, subscription: Subscription) -> None:
        calls = subscription.calls
        self.framework_id = field_of(event, str, "subscribed", "framework_id", "value")
        heartbeat = heartbeat_of(event)
        subscription.confirm(heartbeat * self._timing.missed_heartbeats)
        self._calls = calls
        self._said = ""
        self.master = calls.base
        log.info(
            "subscribed to %s as framework %s (heartbeat %g s)",
            calls.base,
            self.framework_id,
            heartbeat,
        )
        self._emit({**event, "_master": calls.base})
        if self._tearing_down:
            calls.post("TEARDOWN", self._payload("TEARDOWN", {}))

    def _take_update(self, event: Json, calls: Calls) -> None:
        status = field_of(event, dict, "update", "status")
        uuid = None if "uuid" not in status else field_of(event, str, "update", "status", "uuid")
        if uuid is None or uuid not in self._seen:
            self._emit(event)
        if uuid is not None:
            self._remember(uuid)
            body = {key: status[key] for key in ("agent_id", "task_id", "uuid") if key in status}
            calls.post("ACKNOWLEDGE", self._payload("ACKNOWLEDGE", body))

    def _remember(self, uuid: str) -> None:
        self._seen[uuid] = None
        if len(self._seen) > _REMEMBERED_UPDATES:
            del self._seen[next(iter(self._seen))]

    def _payload(self, type: str, body: Json) -> bytes:
        return call_json.call(self.framework_id, type, body)
