"""Serves the page until its user ends it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from ... import daemon_threads
from ...acceptor import BACKLOG, Acceptor
from ...errors import TFMesosError
from ...http.server import Server
from ..run_directories import Store
from .announcement import Announcement, announce, file_in
from .browser_access import HOSTS, Access, Served
from .opening import open_in_browser
from .site import Site

ATTEMPTS = 3  # attempts to serve, or to find the process that does, which may end at the same time
PROVE_WITHIN = 10.0  # seconds for somebody who connects to show the cookie


class CannotServe(TFMesosError):
    exit_code = 71  # EX_OSERR


class Unshown(Exception):
    """The link could not be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


class WrongPort(TFMesosError):
    exit_code = 2


class Page:
    """The page of the runs in *root*, which this process serves unless another one already does.

    *say* is for people, *show* for the link itself.
    """

    def __init__(
        self,
        root: Path,
        *,
        use_browser: bool,
        say: Callable[[str], object],
        show: Callable[[str], object],
    ) -> None:
        self._root = root
        self._use_browser = use_browser
        self._say = say
        self._show = show

    def open(self, run_id: str | None = None, port: int | None = None) -> int:
        """Show the list of runs, or one; returns the exit code when it is no longer served."""
        announcement = Announcement(file_in(self._root.parent))
        for _ in range(ATTEMPTS):
            with announcement.claimed() as descriptor:
                if descriptor is not None:
                    return asyncio.run(self._serve(descriptor, run_id, port or 0))
            if served := announcement.found():
                return self._link_to(served, run_id, port)
        raise CannotServe("another process serves the page, but its address is unknown")

    def _link_to(self, served: Served, run_id: str | None, port: int | None) -> int:
        """A link to the page that another process serves."""
        if port not in (None, 0, served.port):
            raise WrongPort(
                f"--port {port}: process {served.pid} already serves the page on {served.port}"
            )
        asyncio.run(self._open(served, run_id, f"process {served.pid} serves it"))
        return 0

    async def _serve(self, descriptor: int, run_id: str | None, port: int) -> int:
        daemon_threads.use()
        ended: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        _end_by_signals(ended)
        listener = listening(port)
        async with serving(listener, Store(self._root)) as served:
            announce(descriptor, served)
            opening = asyncio.create_task(self._open(served, run_id, "Ctrl-C ends it"))
            opening.add_done_callback(partial(_end_if_failed, ended))
            try:
                return await ended
            finally:
                opening.cancel()
                await asyncio.gather(opening, return_exceptions=True)

    async def _open(self, served: Served, run_id: str | None, note: str) -> None:
        link = served.link(run_id)
        if self._use_browser:
            self._say(f"the page opens in your browser; {note}")
            if await open_in_browser(link):
                return
            self._say("no browser has opened the page; open this link yourself:")
        else:
            self._say(f"open this link, which works in one browser; {note}")
        try:
            self._show(f"{link}\n")
        except OSError as error:
            raise Unshown(error) from error


@asynccontextmanager
async def serving(listener: socket.socket, store: Store) -> AsyncIterator[Served]:
    """Serve the page on *listener*, which it owns."""
    served = Served.new(listener.getsockname()[1], os.getpid())
    site = Site(served.path, Access(served), store, lambda stream: acceptor.admit(stream))
    server = Server(site.answer)
    acceptor = Acceptor(listener, server.protocol, admit_within=PROVE_WITHIN)
    try:
        yield served
    finally:
        acceptor.close()
        await server.close()
        await acceptor.wait_closed()


def listening(port: int) -> socket.socket:
    try:
        return socket.create_server((HOSTS[0], port), backlog=BACKLOG)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise CannotServe(
            f"--port {port} is not available: {reason}; without --port, any free port is used"
        ) from None


def _end_by_signals(ended: asyncio.Future[int]) -> None:
    """Ctrl-C is the normal way to end a page, not a failure."""
    codes = {signal.SIGINT: 0, signal.SIGTERM: 143, signal.SIGHUP: 129}
    for number, code in codes.items():
        if signal.getsignal(number) != signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, _end, ended, code)


def _end_if_failed(ended: asyncio.Future[int], opening: asyncio.Task[None]) -> None:
    error = None if opening.cancelled() else opening.exception()
    if error is not None and not ended.done():
        ended.set_exception(error)


def _end(ended: asyncio.Future[int], code: int) -> None:
    if not ended.done():
        ended.set_result(code)
