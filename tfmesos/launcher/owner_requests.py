"""What the owner of a run may request while it is running, other than its end."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ..config.launch_config import LaunchConfig
from ..core.events import ContinueRequested, Event, NoticeGiven, RestartRequested
from ..core.generations.notices import why_not_checkpoint
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

        Raises SpecError, ResourcesError or NotUpdated: then the run continues as it was.
        """
        from .updates import NotUpdated, resolved  # most runs are not updated

        if self._lifecycle is None:
            raise NotUpdated(NOT_YET)
        new, wanted = resolved(self._config, changes, self._lifecycle)
        if wanted is None:
            return ()
        await self._look(new)
        resolved(self._config, changes, self._lifecycle)  # it may have changed while we looked
        if not dry_run:
            self._emit(wanted)
        return wanted.difference

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
