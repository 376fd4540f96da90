"""Repeats the past of a run step by step, to find out what its runners must still receive."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..core import actions as do
from ..core import events as happened
from ..core.lifecycle import Lifecycle
from ..engines.api import Driver
from .interrupt import StopRequests
from .links.listener import Listener
from .past import CannotTakeOver
from .screen.story import Story
from .starts import Starts

SOONER = "sooner"  # why a stop that has begun is requested again


_OF_LINKS = do.Prepare | do.StopRunner | do.ContinueRunner | do.Refuse


class Recall:
    """*carry_out* performs actions that affect only links, which nobody uses yet."""

    def __init__(
        self,
        lifecycle: Lifecycle,
        driver: Driver,
        listener: Listener,
        starts: Starts,
        story: Story,
        stop_requests: StopRequests,
        carry_out: Callable[[Any], None],
    ) -> None:
        self._lifecycle = lifecycle
        self._driver = driver
        self._listener = listener
        self._starts = starts
        self._story = story
        self._stop_requests = stop_requests
        self._carry_out = carry_out

    def step(self, event: Any, todo: Sequence[Any]) -> None:
        """An earlier launcher received *event*, and was to do this."""
        self._story.tell(event, todo)
        for action in todo:
            if isinstance(action, do.Mark):  # before anything after it is launched
                self._carry_out(action)
        self._driver.recall(event, todo)
        for action in todo:
            if isinstance(action, _OF_LINKS | do.Finish):
                self._carry_out(action)
            elif isinstance(action, do.Start):
                self._starts.recall(action)
        self._note(event)

    def check(self, received: Mapping[str, tuple[int, bool]]) -> None:
        """CannotTakeOver if this many messages of these runners, or all, do not match the past."""
        if lacking := self._listener.lacking(received):
            raise CannotTakeOver.for_want_of(lacking[0])

    def _note(self, event: Any) -> None:
        if isinstance(event, happened.StopRequested) and event.reason != SOONER:
            self._stop_requests.add(event.reason, event.exit_code)
        self._listener.recall(event)
        if isinstance(event, happened.TaskExited) and not self._lifecycle.is_failing:
            self._listener.dismiss(event.task_id)
