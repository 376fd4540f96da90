"""``tfrun attach`` on a terminal: the live table of a run that another process holds."""

from __future__ import annotations

import sys

import pytest

from tests.commands import tfrun
from tests.terminal import TFRUN, terminal
from tests.whole.test_display import BAR, full, table
from tests.whole.test_display import tmux as tmux


@pytest.fixture
def end(tmp_path):
    return tmp_path / "end"


@pytest.fixture
def detached(tmp_path, end):
    program = tmp_path / "program.py"
    program.write_text(BAR)
    command = ("--", sys.executable, program, end)
    done = tfrun("--detach", "-w", 2, "-s", 1, *command)
    assert done.returncode == 0, done.stderr
    yield done.stdout.strip()
    end.touch()
    tfrun("wait", done.stdout.strip())


def test_attach_shows_the_live_table_and_leaves_with_ctrl_c_or_at_the_end(detached, end):
    with terminal() as shell:
        shell.type(f"{TFRUN} attach")
        screen = shell.until(full)
        assert f"attached to {detached}; Ctrl-C leaves it running" in screen
        assert [row.split()[:2] for row in table(screen)] == [
            ["ps:0", "running"],
            ["worker:0", "running"],
            ["worker:1", "running"],
        ]
        assert "━━━━━━━━━─ Epoch 1: 99% 99/100" in table(screen)[0]
        shell.until(lambda screen: "%  " in screen and " MB  " in screen)  # what they use
        shell.press("C-c")
        left = shell.until_prompt()
        assert "TASK " not in left and f"detached: {detached} keeps running" in left
        assert shell.has_cursor
        shell.type(f"clear; {TFRUN} attach; echo code $?")
        shell.until(full)
        end.touch()
        left = shell.until(lambda screen: "code 0" in screen)
        assert "TASK " not in left and "[worker:1] Epoch 1:  99%" in left
