"""The README tells the truth: its commands run, and it knows every flag."""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

import docutils.core
import pytest

from tests.commands import environment
from tfmesos.cli.arguments import build_parser

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.rst").read_text()
RUNNABLE = re.findall(r"^\.\. runnable\n\.\. code:: bash\n\n((?: {4}.*\n|\n)+)", README, re.M)


@pytest.mark.parametrize("block", RUNNABLE)
def test_a_shell_block_marked_as_runnable_runs(block):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", re.sub("^ {4}", "", block, flags=re.M)],
        cwd=ROOT,
        env=environment(PATH=path),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_there_is_something_to_run():
    assert RUNNABLE


def test_every_flag_is_in_the_readme_and_every_flag_of_the_readme_exists():
    section = README.split("\nFlags\n-----\n")[1].split("\nEnvironment\n")[0]
    told = set(re.findall(r"(?<![\w-])--[a-z_-]+[a-z]|(?<![\w`-])-[A-Za-z][ws]?(?![\w-])", section))
    told |= set(re.findall(r"``(-[A-Za-z][ws]?)(?: N)?``", section))
    actions = build_parser()._actions
    real = {flag for action in actions for flag in action.option_strings}
    assert real - told == set()
    assert {flag for flag in told if flag.startswith("--")} - real == set()


def test_every_flag_has_its_help():
    for action in build_parser()._actions:
        assert action.help and action.help != argparse.SUPPRESS


@pytest.mark.parametrize(
    "name",
    [
        "README.rst",
        "CHANGELOG.rst",
        "CONTRIBUTING.rst",
        "SECURITY.rst",
        "examples/README.rst",
        "bench/README.rst",
    ],
)
def test_the_documents_are_sound_restructuredtext(name):
    settings = {"report_level": 2, "halt_level": 2, "syntax_highlight": "none"}
    docutils.core.publish_string(
        (ROOT / name).read_text(), writer="null", settings_overrides=settings
    )
