"""Carries out what the Mesos engine decides: makes its calls, and reads what tasks left behind."""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...call_queue import CallQueue
from ...config.launch_config import LaunchConfig
from ...config.secret import Secret
from ...core.outcome import Ending
from ...errors import MasterError, ResourcesError, TFMesosError
from ...json_types import Json
from ..api import Context
from . import actions as do
from . import events as happened
from . import feasibility, quotas
from .actions import MesosAction
from .api import sandbox
from .api.client import FailedOver, MesosClient
from .api.json_values import NONSENSE
from .api.masters import Masters
from .api.retries import Timing
from .containers import doubtful_gpus
from .decode import translate
from .engine import MesosEngine
from .events import MesosEvent
from .gang import LONG_REFUSAL
from .last_updates import LastUpdates
from .offers import Seat
from .task_info import framework_info, task_info

if TYPE_CHECKING:
    import ssl

log = logging.getLogger(__name__)

FRAMEWORK = "framework"  # the key of the run that is its id


class MesosDriver:
    """*command* makes the CommandInfo that starts a task; *say* and *named* are the console's."""

    def __init__(
        self,
        context: Context,
        masters: Masters,
        engine: MesosEngine,
        emit: Callable[[MesosEvent], None],
        command: Callable[[str, Seat], Json],
        *,
        credential: tuple[str, Secret] | None,
        tls: ssl.SSLContext | None,
        timing: Timing,
    ) -> None:
        self._config = config = context.config
        self._run_id = run_id = context.run_id
        self._say = context.say
        self._named = context.named
        self._engine = engine
        self._emit = emit
        self._command = command
        self._credential = credential
        self._tls = tls
        self._last_updates = LastUpdates()
        self._kills: dict[str, do.KillTask] = {}  # of an earlier launcher
        self._keys = context.keys
        self._give_away = context.give_away
        self._group: asyncio.TaskGroup
        self._calls = CallQueue()
        self._client = MesosClient(
            masters,
            framework_info(config, run_id, socket.gethostname()),
            self._take,
            credential=credential,
            token=config.access.token,
            ssl_context=tls,
            on_state=lambda line: emit(happened.MasterSought(line)),
            timing=timing,
        )
        self._client.framework_id = self._keys.get(FRAMEWORK)

    async def look(self, config: LaunchConfig) -> None:
        """Resources that others, or our own tasks, use now count as free."""
        known = await self._client.agents()
        try:
            agents = () if known is None else feasibility.parse(known, config.role)
        except NONSENSE:
            return  # nobody knows
        needed = [task for task in config.tasks if not task.is_optional]
        if reason := feasibility.never(needed, agents):
            raise ResourcesError(f"the run cannot be placed: {reason}")

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins: what is launched from now on is launched so."""
        self._config = config

    async def run(self) -> None:
        """Stay subscribed, and make the calls one after another, until cancelled."""
        async with asyncio.TaskGroup() as self._group:
            self._group.create_task(self._subscribe())
            self._group.create_task(self._calls.run())

    async def _subscribe(self) -> None:
        try:
            await self._client.run()
        except FailedOver:
            other = await self._keys.other_holder(self._run_id)
            self._give_away(f"another launcher holds the run now: {other or 'the master says so'}")
        except TFMesosError as error:
            self._emit(happened.MasterGaveUp(error))

    def _take(self, event: Json) -> None:
        log.debug("from Mesos: %s", event.get("type"))
        try:
            translated = translate(event, time.time())
        except NONSENSE as error:
            text = f"malformed event from the master: {event.get('type')}: {error!r}"
            translated = happened.MasterGaveUp(MasterError(text))
        if translated is not None:
            self._last_updates.heard(translated)
            self._emit(translated)
            if isinstance(translated, happened.Subscribed):
                self._keys.keep(FRAMEWORK, translated.framework_id)
                self._kill_again()

    def recall(self, event: Any, actions: Sequence[Any]) -> None:
        """Expect the runners again. Kills are repeated: nobody knows whether they were sent."""
        if isinstance(event, MesosEvent):
            self._last_updates.heard(event)
        for action in actions:
            match action:
                case do.Launch(_, _, _, seats):
                    self._last_updates.launched(task_id for task_id, _ in seats)
                    for task_id, seat in seats:
                        self._command(task_id, seat)
                case do.KillTask():
                    self._kills[action.task_id] = action

    def _kill_again(self) -> None:
        for kill in self._kills.values():
            if self._engine.is_running(kill.task_id):
                self.carry_out(kill)
        self._kills.clear()

    def carry_out(self, action: MesosAction) -> None:
        client, call = self._client, self._calls.add
        match action:
            case do.Launch():
                self._launch(action)
            case do.Decline(offer_ids, refuse_seconds, reason):
                log.debug("declined %d offers: %s", len(offer_ids), reason)
                call(lambda: client.decline(offer_ids, refuse_seconds))
            case do.DeclineInverse(offer_ids, refuse_seconds):
                call(lambda: client.decline_inverse(offer_ids, refuse_seconds))
            case do.Suppress():
                call(client.suppress)
            case do.Revive():
                call(client.revive)
            case do.CountAgents():
                self._group.create_task(self._count_agents())
            case do.KillTask(task_id, agent_id):
                call(lambda: client.kill(task_id, agent_id or None))
            case do.Reconcile(tasks):
                call(lambda: client.reconcile(tasks))

    def _launch(self, launch: do.Launch) -> None:
        for _, seat in launch.seats:
            if seat.other_port:
                self._say(seat.other_port, "notice")
        infos = [
            task_info(
                self._config,
                self._run_id,
                task_id,
                launch.agent_id,
                seat,
                self._command(task_id, seat),
            )
            for task_id, seat in launch.seats
        ]
        seats = [seat for _, seat in launch.seats]
        if warning := doubtful_gpus(self._config, seats, self._named):
            self._say(f"{launch.hostname}: {warning}", "warning")
        names = ", ".join(seat.task.name for seat in seats)
        self._say(f"launching {names} on {launch.hostname}", "info")
        self._last_updates.launched(task_id for task_id, _ in launch.seats)
        accept = self._client.accept
        self._calls.add(lambda: accept(launch.offer_ids, infos, LONG_REFUSAL))

    async def _count_agents(self) -> None:
        known, others = await self._client.agents(), await self._client.frameworks()
        roles = await self._client.roles()
        own_id, wall = self._client.framework_id, time.time()
        try:
            agents = None if known is None else feasibility.parse(known, self._config.role)
            holders = () if others is None else feasibility.holders(others, own_id, wall)
            limits = () if roles is None else quotas.parse(roles, self._config.role)
        except NONSENSE as error:
            log.debug("malformed agent list from the master: %r", error)
            agents, holders, limits = None, (), ()
        self._emit(happened.AgentsCounted(agents, holders, limits))

    # What tasks left behind

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with the path of its sandbox, and with its last lines if we had none."""
        where = self._where(ending.task_id)
        if where is None:
            return ending
        agents, framework_id = where
        tail = ending.tail
        if not ending.is_reported:
            # A secret for the master is not for its agents.
            tail = await sandbox.tail(agents, framework_id, ending.task_id, None, self._tls)
        place = sandbox.browse_url(agents[0], framework_id, ending.task_id)
        return ending.replace(tail=tail, sandbox=place)

    async def read(self, task_id: str, file: str) -> str:
        """The content of *file* in the sandbox of a task; empty if it cannot be read."""
        where = self._where(task_id)
        if where is None:
            return ""
        agents, framework_id = where
        return await sandbox.whole_file(agents, framework_id, task_id, file, self._tls)

    def _where(self, task_id: str) -> tuple[list[str], str] | None:
        """The addresses of its agent, and our framework id there."""
        launched, framework_id = self._engine.launched(task_id), self._client.framework_id
        if launched is None or not launched.agent_url or framework_id is None:
            return None
        hostname = launched.node.hostname
        agents = sandbox.addresses(launched.agent_url, hostname, self._client.master)
        return agents, framework_id

    async def leave(self, within: float) -> None:
        """Send the calls that are still waiting, then have the framework removed."""
        try:
            async with asyncio.timeout(within):
                await self._calls.all_made()
                if self._client.is_subscribed:
                    await self._last_updates.all_arrived()
                    await self._client.all_answered()
        except TimeoutError:
            log.debug("calls that were not sent: %d", len(self._calls))
        await self._client.teardown(within)
