"""A real terminal: a shell in tmux, what is typed into it and what is on its screen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .bounds import HANG
from .commands import environment

LOOK = 0.05  # seconds between two looks at the screen
PROMPT = "ready>"
TFRUN = f"{sys.executable} -m tfmesos"


class Terminal:
    def __init__(self, socket: Path, columns: int, rows: int) -> None:
        self._tmux = ["tmux", "-S", str(socket), "-f", "/dev/null"]
        left_out = ("CI", "JPY_PARENT_PID", "TMUX", "TERM", "NO_COLOR")
        self._env = {k: v for k, v in environment().items() if k not in left_out}
        size = ("-x", str(columns), "-y", str(rows))
        shell = f"exec env PS1='{PROMPT}' bash --norc --noprofile +o history -i"
        self._do("new-session", "-d", *size, "-s", "t", shell)

    def _do(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words], env=self._env, check=True, capture_output=True, text=True
        )
        return done.stdout

    def type(self, text: str) -> None:
        self._do("send-keys", "-t", "t", "-l", text)
        self.press("Enter")

    def press(self, *keys: str) -> None:
        self._do("send-keys", "-t", "t", *keys)

    def resize(self, columns: int, rows: int) -> None:
        self._do("resize-window", "-t", "t", "-x", str(columns), "-y", str(rows))

    def screen(self, *, history: bool = False, escapes: bool = False) -> str:
        """What is on it now, without blank lines at its end; and what has scrolled out of it."""
        more = (*(("-S", "-") if history else ()), *(("-e",) if escapes else ()))
        return self._do("capture-pane", "-p", "-t", "t", *more).rstrip("\n")

    @property
    def has_cursor(self) -> bool:
        return self._do("display-message", "-p", "-t", "t", "#{cursor_flag}").strip() == "1"

    def until(self, condition: Callable[[str], object], *, history: bool = False) -> str:
        """The screen once *condition* holds of it."""
        end = time.monotonic() + HANG
        while not condition(found := self.screen(history=history)):
            assert time.monotonic() < end, f"waited in vain; on the screen is:\n{found}"
            time.sleep(LOOK)
        return found

    def until_prompt(self) -> str:
        """All that was shown, once the shell waits for a command again."""
        return self.until(lambda text: text.endswith(PROMPT) and text != PROMPT, history=True)

    def close(self) -> None:
        self._do("kill-server")


@contextmanager
def terminal(columns: int = 100, rows: int = 24) -> Iterator[Terminal]:
    place = Path(tempfile.mkdtemp(prefix="tmux-"))  # not a test's own: its path would be too long
    opened = Terminal(place / "s", columns, rows)
    try:
        opened.until(lambda screen: PROMPT in screen)
        yield opened
    finally:
        opened.close()
        shutil.rmtree(place)


def is_available() -> bool:
    return shutil.which("tmux") is not None and os.path.exists("/bin/bash")
