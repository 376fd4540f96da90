"""Where the last lines of a terminal may be rewritten, and where lines are plain."""

import os
import pty
import subprocess
import sys

import pytest

PROGRAM = (
    "from tfmesos.launcher.screen.standard_streams import Screen;"
    "print(Screen.of_this_process().live)"
)


def is_live(**variables):
    """Is a terminal live in an environment of *variables* alone?"""
    ours, theirs = pty.openpty()
    with os.fdopen(ours, "rb", 0) as screen:
        command = [sys.executable, "-c", PROGRAM]
        done = subprocess.run(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
        )
        os.close(theirs)
        assert done.returncode == 0
        return {b"True\r\n": True, b"False\r\n": False}[screen.read(100)]


def test_a_terminal_that_can_move_its_cursor_is_live():
    assert is_live(TERM="xterm-256color")


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"TERM": ""},
        {"TERM": "dumb"},
        {"TERM": "xterm", "CI": "true"},
        {"TERM": "xterm-color", "JPY_PARENT_PID": "17"},  # !tfrun in a notebook, which keeps it all
    ],
    ids=str,
)
def test_where_nothing_can_be_rewritten_lines_are_plain(variables):
    assert not is_live(**variables)
