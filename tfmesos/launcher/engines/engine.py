"""What gives a run its nodes, as the loop sees it: each engine offers the same."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ...core.outcome import Ending
from ...record import Record

if TYPE_CHECKING:
    from ...config.job import Task
    from ...config.secret import Secret
    from ..links.listener import Listener
    from ..screen.story import EngineStory

T = TypeVar("T")

Emit = Callable[[Record], None]  # an event, for the deciders
Say = Callable[[str, str], None]  # a line, and how important it is


class UnlessStopped(Protocol):
    """Names and servers may take long to answer; a stop need not wait for them."""

    async def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class Expect(Protocol):
    """Whoever gives a task to an engine expects its runner from that moment."""

    def __call__(
        self, task_id: str, task: Task, port: int | None = None, gpu_ids: Sequence[str] = ()
    ) -> tuple[str, Secret]:
        """What the stub of this task is told, and its secret."""


class Decider(Protocol):
    """Whatever decides: pure, so that events and random numbers are enough to replay a run."""

    @property
    def deadline(self) -> float | None:
        """When ``Ticked`` is due at the latest."""

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Take in what happened; return what is to be done, in this order."""


class Driver(Protocol):
    """Does what the decider of its engine wants done."""

    async def run(self) -> None:
        """Emit what happens there, until cancelled."""

    def carry_out(self, action: Any) -> None: ...

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with what the engine kept of the task."""

    async def read(self, task_id: str, file: str) -> str:
        """The content of a file that a task left behind; empty if it cannot be had."""

    async def leave(self, within: float) -> None:
        """Leave nothing behind there."""


class Setup(Protocol):
    """How a run comes to its engine, and its runners to the run."""

    scratch: str | None  # a directory that tasks on this machine remove if the launcher dies
    certificate: str  # the hash of the run's, if its links use TLS
    story: EngineStory

    @property
    def remark(self) -> str:
        """What the user should know before the run begins."""

    @property
    def kept(self) -> str:
        """Where lines are found that the screen left out, as the rest of a sentence."""

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        """Find the engine of a run that *began_at* this time; what is opened goes with *stack*."""

    async def listen(self, listener: Listener) -> str:
        """Have *listener* hear the runners, and say where they find it."""

    def driver(self, decider: Any, emit: Emit, expect: Expect) -> Driver: ...
