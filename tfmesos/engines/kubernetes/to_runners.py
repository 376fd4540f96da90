"""Connections to the runners, through the server, as long as it allows them."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

from .api.client import Client
from .api.error import ApiError
from .events import ServerGaveUp

LINK_PORT = 28922  # at the loopback of each pod, where its runner waits for us
AT_FIRST = 3.0  # seconds: several servers do not learn of a new right at the same time
AFTER_SUCCESS = 30.0  # seconds: one that has started again may not know yet what we may do
PAUSE = (
    15.0  # seconds of silence after which the server counts as forbidding again; we ask more often
)


class Patience:
    """How long a server may forbid the connections before that ends the run."""

    def __init__(self) -> None:
        self._forbidden_since: float | None = None
        self._forbidden_at = 0.0  # the last time
        self._has_succeeded = False

    def succeeded(self) -> None:
        self._forbidden_since = None
        self._has_succeeded = True

    def is_over(self, error: ApiError, now: float) -> bool:
        if error.code != 403:
            return False
        if self._forbidden_since is None or now - self._forbidden_at > PAUSE:
            self._forbidden_since = now
        self._forbidden_at = now
        limit = AFTER_SUCCESS if self._has_succeeded else AT_FIRST
        return now - self._forbidden_since >= limit


class ToRunners:
    def __init__(self, client: Client, emit: Callable[[ServerGaveUp], None]) -> None:
        self._client = client
        self._emit = emit
        self._patience = Patience()

    async def dial(self, pod: str) -> socket.socket:
        """A connection to the runner in *pod*; a server that keeps forbidding it ends the run."""
        try:
            found = await self._client.dial(pod, LINK_PORT)
        except ApiError as error:
            if self._patience.is_over(error, asyncio.get_running_loop().time()):
                self._emit(ServerGaveUp(error))
            raise
        except ConnectionRefusedError:  # by pod: the server let us through
            self._patience.succeeded()
            raise
        self._patience.succeeded()
        return found
