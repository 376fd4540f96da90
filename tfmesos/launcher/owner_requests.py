"""What the owner of a run may request while it is running, other than its end."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..config.launch_config import LaunchConfig
from ..core.events import ContinueRequested, Event, NoticeGiven, RestartRequested, UpdateRequested
from ..core.generations.notices import why_not_checkpoint
from ..core.generations.sequence import ENDING
from ..core.lifecycle import Lifecycle
from ..json_types import Json
from .inside import Inside

if TYPE_CHECKING:
    from ..config.changes import Changes

NOT_YET = "it is being set up"


class OwnerRequests:
    """Nothing is possible before ``begin``. Methods that return a string return what is wrong."""

    def __init__(self, config: LaunchConfig, emit: Callable[[Event], object]) -> None:
        self._config = config
        self._emit = emit
        self._lifecycle: Lifecycle | None = None
        self._inside: Inside
        self._look: Callable[[LaunchConfig], Awaitable[None]]
        self._undecided: deque[asyncio.Future[str]] = deque()  # of the requested updates

    def begin(
        self,
        lifecycle: Lifecycle,
        inside: Inside,
        look: Callable[[LaunchConfig], Awaitable[None]],
    ) -> None:
        """*look* raises SpecError or ResourcesError if the engine cannot run other jobs."""
        self._lifecycle = lifecycle
        self._inside = inside
        self._look = look

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins."""
        self._config = config

    def end(self) -> None:
        """The run takes no more updates."""
        while self._undecided:
            self._answer(ENDING)

    def restart(self, name: str, elsewhere: bool) -> str:
        """Have a task stopped and started again."""
        if self._lifecycle is None:
            return NOT_YET
        task_id, problem = self._lifecycle.members.to_restart(name)
        if not problem:
            self._emit(RestartRequested(task_id, elsewhere))
        return problem

    def checkpoint(self) -> str:
        """Have all tasks stopped together, with their grace period."""
        if self._lifecycle is None:
            return NOT_YET
        problem = why_not_checkpoint(self._lifecycle.phase)
        if not problem:
            self._emit(NoticeGiven("its owner requested a checkpoint"))
        return problem

    async def update(self, changes: Changes, *, dry_run: bool = False) -> tuple[str, ...]:
        """Continue with other jobs; returns what changes, in words: nothing if they are the same.

        It waits for its turn. Raises SpecError, ResourcesError or NotUpdated: then the run
        continues as it was.
        """
        from .updates import NotUpdated, resolved  # most runs are not updated

        if self._lifecycle is None:
            raise NotUpdated(NOT_YET)
        looked_at = None
        new, wanted = resolved(self._config, changes, self._lifecycle)
        while wanted is not None and new != looked_at:
            await self._look(new)
            looked_at = new  # the run may have changed meanwhile
            new, wanted = resolved(self._config, changes, self._lifecycle)
        if wanted is None:
            return ()
        if not dry_run and (problem := await self._decided(wanted)):
            raise NotUpdated(problem)
        return wanted.difference

    def _decided(self, update: UpdateRequested) -> asyncio.Future[str]:
        """Why the run does not take the update when it handles it; empty if it does."""
        decided: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._undecided.append(decided)
        self._emit(update)
        return decided

    def decide(self, update: UpdateRequested) -> bool:
        """Does the run take the update, which it is about to handle?"""
        assert self._lifecycle is not None
        problem = self._lifecycle.generations.why_not_take(update, self._lifecycle.phase)
        self._answer(problem)
        return not problem

    def _answer(self, problem: str) -> None:
        """Answer the first requested update, unless nobody waits for the answer any more."""
        decided = self._undecided.popleft()
        if not decided.done():
            decided.set_result(problem)

    def continue_held(self) -> str:
        """Release the tasks that are held."""
        if self._lifecycle is None or not self._lifecycle.members.held():
            return "no task is held"
        self._emit(ContinueRequested())
        return ""

    def refusal_inside(self, asked: Json) -> str:
        """Why a request inside a task is refused; empty if it is not."""
        return NOT_YET if self._lifecycle is None else self._inside.admit(asked)

    async def serve_inside(
        self, asked: Json, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await self._inside.serve(asked, reader, writer)
