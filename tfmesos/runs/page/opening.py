"""Starts the browser of the user with a link, which nobody else gets to see.

Everybody on the machine can read the arguments of a process, so the browser gets a file that only
its owner can read, and that redirects to the link.
"""

from __future__ import annotations

import asyncio
import html
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

from ...http.client import Session
from ...http.connection import HttpError
from ...shared.held_directory import Private

USED_WITHIN = 60.0  # seconds for a browser to start; then the file is removed
ASK_EVERY = 0.2  # seconds


def has_browser(environ: Mapping[str, str]) -> bool:
    """Is there a screen for a browser, or has the user named one?"""
    named = any(environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    return named or sys.platform == "darwin"


async def open_in_browser(link: str) -> bool:
    """Opens *link*; returns whether a browser has used it."""
    with Private(tempfile.gettempdir(), "tfmesos-link-") as private:
        started = _start(_written(Path(private, "open.html"), link).as_uri())
        try:
            async with asyncio.timeout(USED_WITHIN):
                return await _was_used(link, started)
        except TimeoutError:
            return False


def _written(file: Path, link: str) -> Path:
    shown = html.escape(link)
    file.touch(0o600)
    file.write_text(
        '<!doctype html><html lang=en><meta name="referrer" content="no-referrer">'
        f'<meta http-equiv="refresh" content="0;url={shown}"><title>tfrun</title>'
        f'<p><a href="{shown}">Your runs</a></p></html>\n'
    )
    return file


def _start(address: str) -> asyncio.Future[bool]:
    """Runs in a thread that nobody waits for: some browsers return when their window is closed."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bool] = loop.create_future()

    def start() -> None:
        import webbrowser

        try:
            is_started = webbrowser.open(address)
        except (webbrowser.Error, OSError):
            is_started = False
        try:
            loop.call_soon_threadsafe(_tell, done, is_started)
        except RuntimeError:
            pass  # the loop has ended meanwhile

    threading.Thread(target=start, daemon=True, name="browser").start()
    return done


def _tell(done: asyncio.Future[bool], is_started: bool) -> None:
    if not done.done():
        done.set_result(is_started)


async def _was_used(link: str, started: asyncio.Future[bool]) -> bool:
    """Wait for it; no longer if no browser could be started."""
    async with Session() as session:
        while await _is_good(session, link):
            if started.done() and not started.result():
                return False
            await asyncio.sleep(ASK_EVERY)
    return True


async def _is_good(session: Session, link: str) -> bool:
    try:
        async with await session.ask("HEAD", link) as answer:
            return answer.status == 200
    except (OSError, HttpError):
        return False
