"""Which errors of a server are temporary, and for how long to retry.

A server that has just started answers before it has read its Roles: for a moment it forbids
everything.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ...errors import TFMesosError
from .api.error import ApiError

RETRY_PAUSE = 0.5  # seconds between two attempts
AFTER_RECONNECTION = 10.0  # seconds after which a server has read its Roles
NO_ROLES = 10.0  # seconds for which a right that existed before may be missing

NEVER = float("inf")

Answer = TypeVar("Answer")


class Retries:
    """Of one run."""

    def __init__(self) -> None:
        self.is_reviewed = False  # has the server said that we have all rights?
        self._is_away = False
        self._back_at = float("-inf")

    def came_back(self, now: float) -> None:
        """The server answers again: it may have started again."""
        self._is_away = False
        self._back_at = now

    def may_pass(self, error: TFMesosError, forbidden_for: float, now: float) -> bool:
        """*forbidden_for*: seconds since the server forbade the same for the first time."""
        if not isinstance(error, ApiError):
            return False
        if not error.is_missing_right:
            return error.is_retryable
        is_young = now - self._back_at < AFTER_RECONNECTION
        return (self.is_reviewed or is_young) and forbidden_for < NO_ROLES

    async def ask(
        self,
        question: Callable[[], Awaitable[Answer]],
        seconds: float,
        failed: Callable[[TFMesosError], object] = lambda error: None,
    ) -> Answer:
        """Its answer, after as many requests as may help; *failed* gets each error that is retried.

        The server has *seconds* to come up, and then NO_ROLES seconds to learn what we may do.
        """
        clock = asyncio.get_running_loop().time
        end, forbidden_since = clock() + seconds, NEVER
        while True:
            try:
                answer = await question()
                if self._is_away:
                    self.came_back(clock())
                return answer
            except TFMesosError as error:
                now = clock()
                is_forbidden = isinstance(error, ApiError) and error.is_missing_right
                forbidden_since = min(forbidden_since, now) if is_forbidden else NEVER
                if is_forbidden and self._is_away:
                    self.came_back(now)
                if not self.may_pass(error, now - forbidden_since, now):
                    raise
                if not is_forbidden and now + RETRY_PAUSE > end:
                    raise
                self._is_away = self._is_away or not is_forbidden
                failed(error)
            await asyncio.sleep(RETRY_PAUSE)
