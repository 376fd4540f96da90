"""A program that is on no disk of the agents runs there all the same."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment
from tests.packs import write

from .conftest import unavailable

TRAIN = """
import os, package.model
open("weights", "w").write("trained")
print("found", package.model.ANSWER, os.getcwd())
"""
# A directory that only this command sees: another file system in a mount namespace of its own.
HIDDEN = 'mount -t tmpfs tmpfs "$1" && cp -r "$2"/. "$1" && cd "$1" && shift 2 && exec "$@"'


@pytest.fixture
def hidden(tmp_path):
    """What goes before a command to have it see, in its directory, a project that no agent sees."""
    source = write(tmp_path / "source", train_py=TRAIN, package__model_py="ANSWER = 42")
    place = tmp_path / "project"
    place.mkdir()
    alone = ["unshare", "--mount", "--propagation", "private"]
    if subprocess.run([*alone, "mount", "-t", "tmpfs", "tmpfs", str(place)]).returncode:
        unavailable("no mount namespace can be made here: that needs root")
    return [*alone, "sh", "-c", HIDDEN, "sh", str(place), str(source)]


def test_a_program_that_no_agent_has_is_shipped_and_its_copy_removed(master, hidden):
    tfrun = [sys.executable, "-m", "tfmesos", "-m", master, "--ship", "-w", "2", "-Mw", "512"]
    command = [*hidden, *tfrun, "--", sys.executable, "train.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), timeout=HANG, check=False
    )
    assert done.returncode == 0, done.stderr
    found = dict(re.findall(r"(?m)^\[(\S+)\] found 42 (/\S+/ship)$", done.stdout))
    assert sorted(found) == ["worker:0", "worker:1"]
    assert [os.listdir(place) for place in found.values()] == [["weights"]] * 2
