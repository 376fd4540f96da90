"""``-h`` fits a screen; ``--help`` has everything, the commands first."""

from __future__ import annotations

import pytest

from tfmesos.cli.arguments import FLAGS, parse
from tfmesos.cli.commands.names import NAMES, TAKING_FLAGS
from tfmesos.cli.help_text import _SHORT
from tfmesos.command_line import Answer


def answer(*argv):
    with pytest.raises(Answer) as caught:
        parse(argv)
    return str(caught.value)


def test_the_short_help_fits_a_screen_and_names_every_command():
    lines = answer("-h").splitlines()
    assert len(lines) <= 45 and max(map(len, lines)) <= 80
    named = {line.split()[0] for line in lines if line.startswith("  ")}
    assert {*NAMES, *TAKING_FLAGS, "-w", "-m", "--image"} <= named
    assert "tfrun --help" in lines[-1]


def test_the_short_help_names_flags_that_there_are():
    real = {one for flag in FLAGS for one in flag.flags}
    told = {part.split()[0].partition("[")[0] for flags in _SHORT for part in flags.split(", ")}
    assert told <= real and len(_SHORT) <= 11


def test_the_long_help_has_every_command_and_then_every_flag():
    text = answer("--help")
    assert all(f"  {name} " in text for name in (*NAMES, *TAKING_FLAGS))
    assert all(flag.flags[-1] in text for flag in FLAGS)
    assert text.index("commands:") < text.index("--nworker") < text.index("examples:")
