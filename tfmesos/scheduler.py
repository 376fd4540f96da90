"""TFMesosScheduler: a run for code that is not asynchronous, on a thread of its own."""

from __future__ import annotations

import asyncio
import atexit
import logging
import textwrap
import threading
from collections.abc import Iterator, Mapping
from concurrent import futures
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, overload

from .config.job import Job
from .config.launch_config import LaunchConfig
from .config.secret import without_password
from .config.settings_help import settings_help
from .core.actions import ClusterSpec
from .core.outcome import Outcome
from .errors import Interrupted, SpecError, TFMesosError
from .inputs.merging import by_name
from .inputs.resolve import config_of_call
from .launcher.caller.cluster_resolver import OwnAddress, resolver
from .launcher.caller.coordinator import give_up
from .launcher.caller.old_names import OldNames
from .launcher.caller.release import Caller, is_of_tensorflow
from .launcher.run import Run
from .launcher.screen.console import STALLED, Console
from .launcher.screen.standard_streams import Screen
from .launcher.updates import NotUpdated
from .runs.about import program
from .runs.recorded_run import Recording
from .shared.task_variables import by_index, members

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Unpack

    from .config.changes import Around, Changed
    from .config.setting import Text
    from .config.settings import Settings
    from .inputs.resolve import Asked

logging.getLogger("tfmesos").addHandler(logging.NullHandler())  # the program decides

# All in seconds:
LEARNED_WITHIN = 3.0  # between TensorFlow's complaint and our knowledge of the cause
GIVEN_UP_WITHIN = 10.0  # by TensorFlow, of a cluster that is to stop

__all__ = ["Job", "Outcome", "TFMesosScheduler", "cluster"]


class TFMesosScheduler(OldNames):
    """A cluster with the interface of TFMesos: ``start()``, use ``targets``, ``stop()``.

    You can use it in a notebook, in any thread, beside a running event loop, and several
    times in one process: its own event loop lives on its own thread.
    """

    @overload
    def __init__(self, task_spec: Asked, **settings: Unpack[Settings]) -> None: ...

    @overload
    def __init__(
        self,
        task_spec: Asked,
        role: Text,
        master: Text = ...,
        name: Text = ...,
        quiet: bool = ...,
        volumes: Mapping[str, str] | Iterable[str] | None = ...,
        containerizer_type: Text = ...,
        force_pull_image: bool = ...,
        forward_addresses: Mapping[str, str | tuple[str, int]] | None = ...,
        protocol: Text = ...,
        env: Mapping[str, str] | None = ...,
        extra_config: Mapping[str, str | None] | None = ...,
        /,
        **settings: Unpack[Settings],
    ) -> None: ...

    def __init__(self, task_spec: Asked, *positional: Any, **settings: Any) -> None:
        """*task_spec* is a Job, a dict, a list of either, or the path of a job file.

        help(tfmesos.cluster) lists the settings. Give them by name; TFMesos took some by position:
        role, master, name, quiet ...
        """
        given = by_name(positional, settings)
        self.config: LaunchConfig = config_of_call(task_spec, given)
        self._quiet = bool(given.get("quiet"))
        self._ready: Future[ClusterSpec] = Future()
        self._ended: Future[Outcome] = Future()
        self._rolled: Future[str] = Future()  # what has stopped a rolling update
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._run: Run | None = None
        self._lock = threading.Lock()  # for the three around it
        self._stop_wanted: tuple[str, int] | None = None
        self._own_address = OwnAddress()
        self._told = False  # does the caller know how it ended?
        self._owner = 0  # the thread that started it
        self._caller = Caller(lambda: self._stop_wanted is not None)

    def __repr__(self) -> str:
        jobs = ", ".join(f"{job.size} {job.name}" for job in self.config.jobs)
        master = without_password(self.config.master)
        return f"<TFMesosScheduler: {jobs} on {master}, {self._state}>"

    @property
    def _state(self) -> str:
        if self._ended.done():
            broken = self._ended.exception()  # by a bug of ours
            return str(broken or f"ended with exit code {self._ended.result().exit_code}")
        if self._thread is None:
            return "not started"
        return "running" if self._ready.done() else "starting"

    def start(self, wait: bool = True) -> None:
        """Start the cluster. Returns when every task runs; raises an error if that fails.

        With ``wait=False`` it returns at once, and the first use of an address waits.
        """
        if self._thread is not None:
            raise RuntimeError("start() was already called: create a new scheduler for a new run")
        self._owner = threading.get_ident()
        self._thread = threading.Thread(target=self._live, name="tfmesos", daemon=True)
        self._thread.start()
        atexit.register(self.stop)
        if not wait:
            return
        try:
            self._cluster()
        except BaseException:
            self.stop()
            raise

    @property
    def cluster_def(self) -> dict[str, list[str]]:
        """Task type -> list of ``host:port``, for ``tf.train.ClusterSpec``."""
        return {job: list(addresses) for job, addresses in self._cluster().items()}

    @property
    def targets(self) -> dict[str, str]:
        """Task name -> ``grpc://host:port``, for ``tf.compat.v1.Session``."""
        return {
            f"/job:{job}/task:{index}": f"{self.config.protocol}://{address}"
            for job, addresses in self._indexed().items()
            for index, address in addresses.items()
        }

    @property
    def cluster_spec(self) -> Any:
        """The cluster as a ``tf.train.ClusterSpec``."""
        import tensorflow as tf

        return tf.train.ClusterSpec(self._indexed())

    def resolver(self) -> Any:
        """A cluster resolver for ``tf.distribute``, with this process as the coordinator."""
        assert self._cluster() and self._run is not None
        own = self._own_address.on(self._run.host)
        return resolver(members(self._indexed()), own, self.config.protocol)

    def _indexed(self) -> dict[str, dict[int, str]]:
        return by_index(self._cluster(), {job.task_type: job.start for job in self.config.jobs})

    def finished(self) -> bool:
        """Whether the run has succeeded; False while it runs. Raises the error of a failed run."""
        if not self._ended.done():
            return False
        self._raise_failure()
        return True

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Outcome:
        """Wait for the end of the run. Raises its error, unless *check* is False.

        Raises TimeoutError after *timeout* seconds; the run then goes on.
        """
        with self._caller.main_thread.listening():
            if not futures.wait([self._ended], timeout).done:
                awaited = self._run.awaited if self._run else "it is being set up"
                raise TimeoutError(f"the run has not ended after {timeout:g} s: {awaited}")
        if check:
            self._raise_failure()
        self._tell()
        return self._ended.result()

    def stop(self) -> None:
        """End every task. Returns when nothing is left. A second call does nothing."""
        if self._thread is None:
            return
        try:
            self._leave_servers()
            self._request_stop("stopped by its owner", 0)
            self._thread.join()
        except KeyboardInterrupt:
            self._request_stop("interrupted", Interrupted.exit_code)
            self._thread.join()
            raise
        finally:
            atexit.unregister(self.stop)
            self._own_address.close()

    def update(
        self, jobs: Changed = None, *, dry_run: bool = False, **settings: Unpack[Around]
    ) -> tuple[str, ...]:
        """Change the running jobs: all tasks stop within their grace and start with the change.

        *jobs* says what changes: ``{"worker": 4}`` or ``{"worker": {"mem": "4G"}}``. Returns a
        description of the changes when all tasks run. Raises an error if the change is refused
        (the run then goes on as before), or if the run ends first. With *dry_run* nothing changes,
        and ``back=True`` undoes the last update. With ``rolling=True`` the tasks are started again
        one after the other, each at its address.
        """
        loop, run = self._loop, self._run
        if loop is None or run is None or self._ended.done():
            raise RuntimeError("the cluster is not running")
        if not isinstance(jobs or {}, Mapping):
            raise SpecError(None, "jobs", f"must be a dict such as {{'worker': 4}}, got {jobs!r}")
        changes = {"jobs": dict(jobs or {}), **settings}
        if not any(value for key, value in changes.items() if key != "rolling"):
            problem = "needs a change, such as {'worker': 4}, or back=True"
            raise SpecError(None, "update", problem)
        wanted = run.owner_requests.update(changes, dry_run=dry_run)
        found = asyncio.run_coroutine_threadsafe(wanted, loop).result()
        if found and changes.get("rolling") and not dry_run:
            with self._caller.main_thread.listening():
                problem = self._rolled.result()
            if problem:
                raise NotUpdated(problem)
        self._cluster()
        return found

    def _begin_update(self, is_rolling: bool) -> None:
        """The run takes an update, which ends the wait for a rolling one."""
        self._end_rolling("undone before it was complete")
        if is_rolling:
            self._rolled = Future()
        elif self._ready.done():
            self._ready = Future()  # nobody uses the addresses of the last generation

    def _end_rolling(self, problem: str) -> None:
        if not self._rolled.done():
            self._rolled.set_result(problem)

    def _leave_servers(self) -> None:
        """Dead servers are answered for until we stop them, so that TensorFlow can let go."""
        if self.config.has_servers and self._ready.done() and not self._ready.exception():
            addresses = {address for job in self._ready.result().values() for address in job}
            give_up(addresses, GIVEN_UP_WITHIN)

    def _request_stop(self, reason: str, exit_code: int) -> None:
        with self._lock:
            self._stop_wanted = (reason, exit_code)
            loop, run = self._loop, self._run
        if loop is None or run is None or self._ended.done():
            return  # it will be stopped as soon as it is there, or has ended already
        try:
            loop.call_soon_threadsafe(run.request_stop, reason, exit_code)
        except RuntimeError:
            pass  # the loop has just been closed: there is nothing left to stop

    def _cluster(self) -> ClusterSpec:
        if self._thread is None:
            raise RuntimeError("the cluster has not been started yet: call start()")
        if self._ended.done():
            self._raise_failure()
        try:
            with self._caller.main_thread.listening():
                return self._ready.result()
        except TFMesosError:
            self._tell()
            raise

    def _raise_failure(self) -> None:
        error = self._ended.result().error
        if error is not None:
            self._tell()
            raise error

    def _tell(self) -> None:
        """The caller now knows how it ended, if this is the thread that started the run."""
        self._told = self._told or threading.get_ident() == self._owner

    def _raise_untold_failure(self, error: BaseException | None = None) -> None:
        """Raise the failure of the run, unless its caller has seen it already.

        It is then the cause of *error*, with which the block of the run was left.
        """
        failure = self._ended.result().error if self._ended.done() else None
        if failure is not None and not self._told:
            self._told = True
            raise failure from error

    def _await_failure(self, within: float) -> None:
        """Give the run this many seconds to learn of a failure that its user noticed first."""
        try:
            self._ended.exception(within)
        except TimeoutError:
            pass

    def _live(self) -> None:
        level = "warning" if self._quiet else "notice"
        console = Console(Screen.of_python(), prefix="tfmesos", level=level)
        try:
            outcome = self._recorded(console)
        except BaseException as error:
            self._fail(error)
        else:
            self._publish(outcome, console)
            if outcome.error is not None:
                self._caller.see_out(outcome, console)
        finally:
            console.close(STALLED if self._run and self._run.is_stopped else None)

    def _recorded(self, console: Console) -> Outcome:
        with Recording(self.config, program(), console) as recording:
            outcome = asyncio.run(self._go(console, recording))
            recording.ended(outcome)
            return outcome

    async def _go(self, console: Console, recording: Recording) -> Outcome:
        run = Run(
            self.config,
            console,
            recording.id,
            on_ready=self._announce,
            on_failure=lambda outcome: self._break_news(console, outcome),
            observer=recording.observer,
            bring_to=recording.brought,
        )
        run.on_rolled = self._end_rolling
        run.on_update = self._begin_update
        with self._lock:
            self._loop = asyncio.get_running_loop()
            self._run = run
            wanted = self._stop_wanted
        if wanted is not None:
            run.request_stop(*wanted)
        async with recording.control(run):
            return await run.go()

    def _announce(self, cluster: ClusterSpec) -> None:
        """The addresses are known; after a restart of all tasks there are new ones."""
        if self._ready.done():
            self._ready = Future()
        self._ready.set_result(cluster)
        self._end_rolling("")
        self._caller.may_use(self.targets.values())

    async def _break_news(self, console: Console, outcome: Outcome) -> None:
        """Notify the caller, and get it out of TensorFlow while dead servers are answered for."""
        is_in_use = self._ready.done()
        self._publish(outcome, console)
        if is_in_use:
            await self._caller.come_out()

    def _publish(self, outcome: Outcome, console: Console) -> None:
        """Tell everybody how the run ended, unless they know."""
        if self._ended.done():
            return
        if not self._quiet:
            console.report(outcome)
        if not self._ready.done():
            early = TFMesosError("the run ended before all its tasks had begun")
            self._ready.set_exception(outcome.error or early)
        self._ended.set_result(outcome)
        self._end_rolling("")

    def _fail(self, error: BaseException) -> None:
        for future in (self._ready, self._ended):
            if not future.done():
                future.set_exception(error)
        self._end_rolling("")


@contextmanager
def cluster(
    jobs: Asked, *, wait: bool = True, **settings: Unpack[Settings]
) -> Iterator[TFMesosScheduler]:
    """A cluster that runs for the length of a block. However you leave the block, nothing remains.

    *jobs* and the settings are those of TFMesosScheduler.
    With ``wait=False`` the block begins at once, and the first use of an address waits.
    """
    scheduler = TFMesosScheduler(jobs, **settings)
    main_thread = scheduler._caller.main_thread
    scheduler.start(wait)
    try:
        main_thread.enter()
        yield scheduler
        main_thread.leave()
    except BaseException as error:
        is_interrupted = main_thread.leave(error)
        if is_of_tensorflow(error):
            scheduler._await_failure(LEARNED_WITHIN)
        scheduler.stop()
        if is_interrupted or isinstance(error, Exception):
            scheduler._raise_untold_failure(None if is_interrupted else error)
        raise
    scheduler.stop()
    scheduler._raise_untold_failure()


# The page has a table instead: see docs/reference.py.
cluster.__doc__ = f"{cluster.__doc__}\n{textwrap.indent(settings_help(), ' ' * 4)}\n"
