"""The files that a run sends to its tasks: packed before the start, sent on request."""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING

from ..config.launch_config import LaunchConfig
from ..config.secret import without_password
from ..config.ship_settings import Ship
from ..engines.api import UnlessStopped
from ..errors import CannotRead, CannotWrite, SpecError
from ..json_types import Json
from ..node.task.files import SHIP
from ..shared.held_directory import Private
from ..text import count, size_text
from .links import payload
from .links.exchange import Supplies
from .screen.console import Console
from .ship.sending_progress import ShipProgress

if TYPE_CHECKING:
    from .ship.downloads import Fetched
    from .ship.pack import Pack

LARGE = 20 * 1024 * 1024  # bytes; what is shipped then is worth a look
NAMED = 3  # of the largest files
SAID_AFTER = 1.0  # seconds
_DIRECTORY = "tfmesos-ship-"  # how the names of directories begin
GIVE_UP = 1.0  # seconds for a thread to notice that nobody wants its work any more


class Shipment:
    """The files that are sent to the tasks of a run, and the progress."""

    def __init__(self, config: LaunchConfig, console: Console) -> None:
        self._config = config
        self._console = console
        self.packs: dict[str, Pack] = {}
        self.missing = ""  # why it cannot be sent any more, after a take-over
        self._progress = ShipProgress(0, 0)

    @property
    def described(self) -> Json:
        """The description for the settings of a runner."""
        return {"packs": {name: pack.describe() for name, pack in self.packs.items()}}

    def supplies(self) -> Supplies:
        """What runners are sent: themselves, and what is packed."""
        return Supplies(get_runners=payload.runners, packs=self.packs, on_sent=self.sent)

    @property
    def status(self) -> str:
        """The progress, while there is something to wait for."""
        return self._progress.line

    async def pack(self, stack: AsyncExitStack, unless_stopped: UnlessStopped) -> None:
        """Prepare everything, until *stack* is left; SpecError or CannotRead if that fails."""
        ship = self._config.ship
        if ship is None:
            return
        fetched = await self._fetch(ship, unless_stopped)
        packing = Packing(ship, fetched, is_deflated=not self._config.engine.is_here)
        say = self._console.say
        soon = asyncio.get_running_loop().call_later(SAID_AFTER, say, "packing the files to ship")
        try:
            pack = await packing.run(unless_stopped)
        finally:
            soon.cancel()
        stack.callback(pack.close)
        say(*packing.summary(pack))
        self.packs = {SHIP: pack}
        tasks = self._config.size - self._config.local_chief
        self._progress = ShipProgress(pack.size, tasks)

    async def open(
        self, stack: AsyncExitStack, unless_stopped: UnlessStopped, *, again: bool = False
    ) -> None:
        """Prepare it; *again* after a take-over, when running tasks have what they need."""
        try:
            await self.pack(stack, unless_stopped)
        except (SpecError, CannotRead, CannotWrite) as error:
            if not again:
                raise
            self.missing = f"the shipped files cannot be packed again: {error}"
            self._console.say(self.missing, "warning")

    async def _fetch(self, ship: Ship, unless_stopped: UnlessStopped) -> Fetched:
        if not ship.addresses:
            return {}
        from .ship.downloads import fetch_all

        text = f"fetching {without_password(', '.join(ship.addresses))}"
        soon = asyncio.get_running_loop().call_later(SAID_AFTER, self._console.say, text)
        try:
            return await unless_stopped(fetch_all(ship))
        finally:
            soon.cancel()

    def sent(self, task_id: str, at: int) -> None:
        """This many bytes of it have been sent to a task."""
        said = self._progress.sent(task_id, at, asyncio.get_running_loop().time())
        if self._console.is_live:
            self._console.status(self.status)
        elif said:
            self._console.say(said)


class Packing:
    """Runs in a thread, because a disk may be slow."""

    def __init__(self, ship: Ship, fetched: Fetched, is_deflated: bool) -> None:
        from .ship.tree import Tree

        self._ship = ship
        self._fetched = fetched
        self._is_deflated = is_deflated
        self._given_up = threading.Event()
        self._tree = Tree(self._given_up.is_set)

    async def run(self, unless_stopped: UnlessStopped) -> Pack:
        """The caller has to close it. If it is stopped, its thread may go on, but not for long."""
        with ExitStack() as stack:
            place = stack.enter_context(_new_directory()) if self._fetched else ""
            work = asyncio.ensure_future(asyncio.to_thread(self._pack_at, place))
            try:
                return await unless_stopped(_result(work))
            finally:
                self._given_up.set()
                if not work.done():
                    work.add_done_callback(_close_unwanted)
                    await asyncio.wait({work}, timeout=GIVE_UP)

    def _pack_at(self, place: str) -> Pack:
        if not self._fetched:
            return self._pack(self._ship)
        from .ship.downloads import on_disk

        with on_disk(self._ship, self._fetched, place, self._given_up.is_set) as ship:
            return self._pack(ship)

    def _pack(self, ship: Ship) -> Pack:
        import tempfile

        from .ship.pack import Packer, TooLarge

        if ship.directory is not None:
            self._tree.add_directory(ship.directory)
        self._tree.add_files(ship.files)
        try:
            contents = tempfile.TemporaryFile(buffering=0)
        except OSError as error:
            raise CannotWrite(f"no room here for the shipped files: {error.strerror}") from error
        packer = Packer(contents, ship.limit, self._is_deflated, self._given_up.is_set)
        try:
            return packer.pack(self._tree)
        except BaseException as error:
            contents.close()
            if isinstance(error, TooLarge):
                raise self._too_large() from None
            raise

    def _too_large(self) -> SpecError:
        problem = f"of {size_text(self._ship.limit)} is exceeded; {self._largest()}"
        return SpecError(None, "ship_limit", problem)

    def _largest(self) -> str:
        named = (f"{name} ({size_text(size)})" for name, size in self._tree.largest(NAMED))
        return f"the largest files: {', '.join(named)}; leave out with .tfignore what no task needs"

    def summary(self, pack: Pack) -> tuple[str, str]:
        """The message about it, and its level."""
        shipped = f"shipping {count(len(self._tree.files), 'file')}, {size_text(pack.size)}"
        if pack.size < LARGE:
            return shipped, "info"
        return f"{shipped} to each task; {self._largest()}", "warning"


def _new_directory() -> Private:
    import tempfile

    try:
        return Private(tempfile.gettempdir(), _DIRECTORY)
    except OSError as error:
        raise CannotWrite(f"no room here for the shipped files: {error.strerror}") from error


async def _result(work: asyncio.Future[Pack]) -> Pack:
    """The waiting coroutine may be cancelled; the thread cannot."""
    return await asyncio.shield(work)


def _close_unwanted(work: asyncio.Future[Pack]) -> None:
    if not work.cancelled() and work.exception() is None:
        work.result().close()
