"""Sets up a run on Kubernetes: an API server, and the connections to the runners."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from ...launcher.links import payload
from ...launcher.links.dialer import Dialer
from ...launcher.links.listener import Listener
from ..api import Context, Emit, Expect, Setup
from ..listening import link_tls, listen_as_before
from ..own_address import local_address_towards
from . import objects
from .api.client import Client
from .api.kubeconfig import access
from .driver import KubernetesDriver
from .refusals import check_ports
from .retries import Retries
from .story import KubernetesStory
from .takeover.ownership import Ownership
from .to_runners import LINK_PORT

FIND_SERVER_WITHIN = 8.0  # seconds
HTTPS_PORT = 443


class KubernetesSetup(Setup):
    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = config = context.config
        self._run_id = context.run_id
        self._say = context.say
        self._access = access(config.master, usual_namespace=config.pods.namespace or "")
        # A pod can rarely reach us; from a pod it can, until the launcher is in another one.
        self._dials = config.advertise is None and bool(self._access.context or config.resumes)
        if self._dials:
            check_ports(config)
        self._began_at = 0.0
        self._links: Dialer | None = None
        self._client: Client
        self._ownership: Ownership
        self._driver: KubernetesDriver
        self._stack: AsyncExitStack
        self.story = KubernetesStory()

    @property
    def remark(self) -> str:
        return self._config.remark

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        self._stack = stack
        self._began_at = began_at
        self._client = await stack.enter_async_context(Client(self._access, self._warned))
        how = objects.PORT_FORWARD if self._dials else objects.DIAL
        self._ownership = Ownership(self._client, self._context, how)
        finding = Retries().ask(self._ownership.find_again, FIND_SERVER_WITHIN)
        await self._context.unless_stopped(finding)

    def _warned(self, words: str) -> None:
        self._say(f"the API server warns: {words}", "warning")

    async def listen(self, listener: Listener) -> str:
        """Either we reach each pod through the server, at its loopback, or the pods reach us."""
        if not self._dials:
            launcher, self.certificate = await listen_as_before(
                listener, self._context, self._own_host
            )
            return launcher
        host = urlsplit(self._access.server).hostname or ""  # it, too, could read what passes
        tls, self.certificate = link_tls(self._config, host, self._context)
        links = Dialer(listener, self._dial, tls, self._say_unreached)
        self._links = await self._stack.enter_async_context(links)
        return f":{LINK_PORT}"

    async def _own_host(self) -> str:
        """The address of our pod."""
        finding = asyncio.to_thread(local_address_towards, self._access.server, HTTPS_PORT)
        return await self._context.unless_stopped(finding)

    def _say_unreached(self, task_id: str, reason: str) -> None:
        self._say(f"cannot connect to a task yet: {reason}", "notice")

    async def _dial(self, task_id: str) -> socket.socket:
        return await self._driver.dial(task_id)

    def driver(self, decider: object, emit: Emit, expect: Expect) -> KubernetesDriver:
        self._driver = KubernetesDriver(
            self._context,
            self._client,
            emit,
            expect,
            stub=payload.stub() if self._links is None else payload.listening_stub(),
            links=self._links,
            give_up_after=self._give_up_after,
            ownership=self._ownership,
        )
        return self._driver

    @property
    def _give_up_after(self) -> float:
        """Look for the server a little less long than for everything together."""
        timeout = self._config.start_timeout
        if timeout is None:
            return FIND_SERVER_WITHIN
        passed = asyncio.get_running_loop().time() - self._began_at
        return max(0.9 * timeout - passed, 0.0)
