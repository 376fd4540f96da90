"""Terminal signals while something is live on the screen: window size, and Ctrl-Z."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial

from .console import Console


def watch_terminal(loop: asyncio.AbstractEventLoop, console: Console) -> None:
    if not console.is_live:
        return
    loop.add_signal_handler(signal.SIGWINCH, console.redraw)
    if signal.getsignal(signal.SIGTSTP) != signal.SIG_IGN:
        loop.add_signal_handler(signal.SIGTSTP, partial(_stop, loop, console))


def _stop(loop: asyncio.AbstractEventLoop, console: Console) -> None:
    """Leave the terminal to the shell, and stop as if the signal had its default effect."""
    console.hide()
    loop.remove_signal_handler(signal.SIGTSTP)
    os.kill(os.getpid(), signal.SIGTSTP)  # returns after the SIGCONT
    loop.add_signal_handler(signal.SIGTSTP, partial(_stop, loop, console))
    console.unhide()
