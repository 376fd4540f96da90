"""What a run on Kubernetes stands on: a server, and a way from and to the runners."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack
from urllib.parse import urlsplit

from ...launcher.links import payload
from ...launcher.links.dialer import Dialer
from ...launcher.links.listener import Listener
from ...shared.address import join_address
from ..api import Context, Emit, EngineStory, Expect
from ..listening import link_tls, listen_for_all
from ..own_address import local_address_towards
from .api.client import Client
from .api.kubeconfig import access
from .driver import KubernetesDriver
from .refusals import check_ports
from .story import KubernetesStory
from .to_runners import LINK_PORT

FIND_SERVER_WITHIN = 8.0  # seconds
HTTPS_PORT = 443


class KubernetesSetup:
    def __init__(self, context: Context) -> None:
        self._context = context
        self._config = config = context.config
        self._run_id = context.run_id
        self._say = context.say
        self._access = access(config.master, usual_namespace=config.pods.namespace or "")
        if config.advertise is None and self._access.context:
            check_ports(config)
        self._began_at = 0.0
        self._links: Dialer | None = None
        self._client: Client
        self._driver: KubernetesDriver
        self._stack: AsyncExitStack
        self.scratch: str | None = None
        self.certificate = ""
        self.story: EngineStory = KubernetesStory()

    @property
    def remark(self) -> str:
        return self._config.remark

    @property
    def kept(self) -> str:
        return ""

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        self._stack = stack
        self._began_at = began_at
        self._client = await stack.enter_async_context(Client(self._access, self._warned))

    def _warned(self, words: str) -> None:
        self._say(f"the API server warns: {words}", "warning")

    async def listen(self, listener: Listener) -> str:
        """A pod can rarely reach us; we reach each pod, at its loopback, through the server."""
        if self._config.advertise is not None:
            host, port = self._config.advertise
            tls, self.certificate = link_tls(self._config, host, self._context)
            return await listen_for_all(listener, host, port, tls)
        if not self._access.context:  # we are in a pod ourselves
            host = await self._context.unless_stopped(self._own_host())
            tls, self.certificate = link_tls(self._config, host, self._context)
            return join_address(*await listener.listen(host, 0, tls))
        host = urlsplit(self._access.server).hostname or ""  # it, too, could read what passes
        tls, self.certificate = link_tls(self._config, host, self._context)
        links = Dialer(listener, self._dial, tls, self._say_unreached)
        self._links = await self._stack.enter_async_context(links)
        return f":{LINK_PORT}"

    async def _own_host(self) -> str:
        return await asyncio.to_thread(local_address_towards, self._access.server, HTTPS_PORT)

    def _say_unreached(self, task_id: str, reason: str) -> None:
        self._say(f"a task cannot be connected to yet: {reason}", "notice")

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
