"""The interface between a run and its engine, which provides nodes.

An engine has three parts, and a plugin through which they are found. This module defines what each
must offer; ``engines/local`` is the smallest engine that is complete, and ``docs/design.rst`` walks
through it.

**The decider** is pure: no I/O, no clock, and random numbers are an argument. It takes

* the requests of the lifecycle (``core.actions.Request``): ``Place`` (find places for all of
  these tasks and start them; it replaces the previous request), ``StopPlacing``, ``Kill``,
  ``LookForRoom`` (answered with ``RoomSeen``, or not at all), and ``Anticipate``, which an engine
  without a queue ignores;
* the events of its own driver, which are records that are *not* ``core.events.Event``;
* ``core.events.Ticked`` when its ``deadline`` has come;
* those events of the runners that it ``hears``, before the lifecycle takes them in.

and returns, in the order in which they are to be done,

* for the lifecycle, ``core.events``: ``EngineReady`` first, ``EngineTrouble`` until then;
  ``TasksPlaced`` when tasks have places, or ``Waiting`` with the reason why not yet, or
  ``Impossible`` if there never will be; then for each attempt ``TaskSeen`` and, exactly once,
  ``TaskEnded``; about its nodes ``TaskUnreachable``, ``NodeLost``, ``NodeDrained``,
  ``NodeWanted``, and ``NoticeGiven`` when the time of all tasks is nearly up; and ``EngineGaveUp``
  when it will place nothing more;
* for the user, ``core.actions.Say``;
* for its driver, any records it likes: everything that is neither an ``Event``, nor a
  ``Request``, nor an action of the lifecycle is passed to ``Driver.carry_out``.

The record of a run has every event that the deciders handled. A decider that gets the same events
again must return the same actions again. All waiting tasks get places, or none: half a cluster is
worth nothing and blocks other runs.

**The driver** carries out the actions of its decider and emits what happens. Before it starts a
task it calls ``Expect``, which returns what the runner must be given: the settings of the stub
(``TFMESOS_RUNNER``) and the secret of the task (``TFMESOS_SECRET``), both in the environment of the
shell command ``launcher.links.payload.command``, which becomes the runner.

**The setup** finds the engine before the run begins, and chooses the address on which runners and
launcher meet.

**The plugin** is what the launcher asks by the name of the engine (``PLUGIN`` in the module
``plugin`` of its folder): which settings it refuses, what its decider is given, and the three parts
above. Plain facts are a row of ``config/engine_kinds`` instead.

**A take-over.** Where tasks outlive the launcher (``survives`` of that row), another one
may continue the run: ``Context.keys`` has what the engine kept there with ``keep`` (its name for
the run, the address of the listener). The decider is given all recorded events
again; ``recall`` tells the driver of each event and of the actions that followed. A call that was
decided but perhaps never made must be safe to repeat. Then ``run`` finds the engine
under the same name and emits what became of the tasks meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..core.events import Event
from ..core.outcome import Ending
from ..record import NOTHING, Record

if TYPE_CHECKING:
    from ssl import SSLContext

    from ..config.job import Task
    from ..config.launch_config import LaunchConfig
    from ..config.secret import Secret
    from ..json_types import Json

T = TypeVar("T")

Emit = Callable[[Record], None]  # an event, for the deciders
Say = Callable[[str, str], None]  # a line, and its level: debug, info, notice or warning


class UnlessStopped(Protocol):
    """Name lookups and servers may be slow to answer; a stop must not wait for them."""

    async def __call__(self, work: Coroutine[Any, Any, T]) -> T: ...


class Keys(Protocol):
    """What an engine needs to find its objects again when another launcher continues the run.

    ``epoch`` counts the launchers of the run; those in ``gone`` are known to have ended.
    """

    epoch: int

    @property
    def gone(self) -> Collection[int]: ...

    def get(self, name: str) -> str | None: ...

    def keep(self, name: str, value: str) -> None: ...

    async def other_holder(self, run_id: str) -> str:
        """The launcher that answers where the tasks look for theirs; empty if none does."""


class NoKeys:
    """Of a run that ends with its launcher."""

    epoch = 1
    gone: Collection[int] = ()

    def get(self, name: str) -> str | None:
        return None

    def keep(self, name: str, value: str) -> None:
        pass

    async def other_holder(self, run_id: str) -> str:
        return ""


class Context(Record):
    """The run that an engine serves, and how to reach its user."""

    config: LaunchConfig
    run_id: str
    say: Say
    named: Callable[[str], str]  # what the user calls a setting
    unless_stopped: UnlessStopped
    keys: Keys = NoKeys()
    give_away: Callable[[str], None] = lambda why: None  # another launcher has taken the run


class Expect(Protocol):
    """Announces the runner of a task, which the launcher expects from then on."""

    def __call__(
        self, task_id: str, task: Task, port: int | None = None, gpu_ids: Sequence[str] = ()
    ) -> tuple[str, Secret]:
        """The settings for the stub of this attempt, and its secret.

        *port* is the one that the task must listen at, if the engine has chosen it; *gpu_ids*
        are the GPUs that it may use, if the engine knows them by name.
        """


class Listens(Protocol):
    """Hears the runners that dial the launcher."""

    async def listen(
        self, host: str, port: int, tls: SSLContext | None = None
    ) -> tuple[str, int]: ...


class Decider(Protocol):
    """A decider: pure, so that events and random numbers are enough to replay a run."""

    @property
    def deadline(self) -> float | None:
        """When ``Ticked`` is due at the latest."""

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        """Take in what happened; return what is to be done, in this order."""


class EngineDecider(Decider, Protocol):
    """The decider of an engine."""

    # What runners report that it is given as well, before the lifecycle: an engine that watches
    # its nodes itself needs none of it.
    hears: tuple[type[Event], ...]


class Driver(Protocol):
    """Carries out the actions of the decider of its engine."""

    async def run(self) -> None:
        """Emit what happens there, until cancelled."""

    async def look(self, config: LaunchConfig) -> None:
        """Check whether the engine could run these jobs in place of the running ones.

        Raises SpecError or ResourcesError if it is known that it cannot; nothing changes.
        """

    def change(self, config: LaunchConfig) -> None:
        """The next generation begins; use *config* for everything launched from now on."""

    def carry_out(self, action: Any) -> None:
        """Begin to do what the decider returned. Must not block."""

    def recall(self, event: Any, actions: Sequence[Any]) -> None:
        """An earlier launcher received *event*, and was to carry out *actions*.

        Note what is needed to go on, and do nothing. Called before ``run``, for all that the
        record of the run has, in its order; only where tasks outlive the launcher.
        """

    async def explain(self, ending: Ending) -> Ending:
        """*ending* with what the engine kept of the task."""

    async def read(self, task_id: str, file: str) -> str:
        """The content of a file that a task left behind; empty if there is none."""

    async def leave(self, within: float) -> None:
        """Leave nothing behind there. Called once, however the run ends."""


class EngineStory(Protocol):
    """What ``-v`` shows about the engine's own events and actions."""

    name: str  # of the engine

    def launched(self, action: Any) -> Mapping[str, str]:
        """The names of the tasks that *action* launches, by their ids."""

    def news(self, event: Any) -> str:
        """A line about *event*, if it deserves one."""

    def ended(self, event: Any) -> tuple[str, str] | None:
        """The id of the task that ended by *event*, and the rest of a sentence about it."""


class Setup(Protocol):
    """Connects a run with its engine, and the runners with the run."""

    scratch: str | None = None  # what tasks on this machine remove if the launcher dies
    certificate: str = ""  # the hash of the run's, if its links use TLS
    story: EngineStory

    @property
    def remark(self) -> str:
        """What the user should know before the run begins."""

    @property
    def kept(self) -> str:
        """Where to find lines that the screen left out, as the rest of a sentence."""
        return ""

    async def open(
        self, stack: AsyncExitStack, began_at: float, is_hurried: Callable[[], bool]
    ) -> None:
        """Find the engine of a run that *began_at* this time; what is opened goes with *stack*.

        Raises SpecError or ResourcesError for what can be refused before anything starts. Whoever
        closes *stack* is in a hurry if *is_hurried* says so.
        """

    async def listen(self, listener: Any) -> str:
        """Let *listener* accept the runners, and return where they find it.

        The answer is ``HOST:PORT`` for runners that dial the launcher, and ``:PORT`` for those
        that the launcher dials.
        """

    def driver(self, decider: Any, emit: Emit, expect: Expect) -> Driver: ...


class Preview(Protocol):
    """What an engine would be sent for a run: ``preview`` of the module of that name."""

    def __call__(self, config: LaunchConfig, hostname: str) -> Json: ...


class Plugin(Protocol):
    """An engine by its name.

    Every run imports that of its engine, and a dry run, too: the functions import what they need.
    """

    # Why a setting of other engines is not needed here, if there is a reason.
    instead: Mapping[str, str] = NOTHING

    def check_master(self, master: str) -> None:
        """SpecError if it names this engine, but nothing that can be found there."""
        return

    def completed(self, config: LaunchConfig, environ: Mapping[str, str]) -> LaunchConfig:
        """Complete *config* with what only this engine reads from the settings or environment."""
        return config

    def can_be_followed(self, config: LaunchConfig) -> bool:
        """Can another launcher listen at the address of this one?"""
        return True

    def check(self, config: LaunchConfig) -> None:
        """SpecError if it cannot run these jobs."""
        return

    def head_start(self, config: LaunchConfig) -> AbstractContextManager[None]:
        """What the engine can begin before the launcher has imported all that a run takes.

        The run takes place within it; whatever no run has taken up ends with it.
        """
        return nullcontext()

    def why_readdressed(self, old: LaunchConfig, new: LaunchConfig) -> str:
        """Why a task has another address when it is started again as in *new*; empty if not."""
        return ""

    def rules(self, config: LaunchConfig) -> dict[str, Any]:
        """What its decider is given besides the jobs; kept in the record of the run."""
        return {}

    def new_decider(
        self, jitter: Callable[[], float], rules: Mapping[str, Any]
    ) -> EngineDecider: ...

    def new_setup(self, context: Context) -> Setup: ...
