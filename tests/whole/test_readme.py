"""The commands and programs of the documents run."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment
from tests.documents import NAMES

ROOT = Path(__file__).parents[2]
BLOCK = r"\.\. code:: {}\n\n((?: {{4}}.*\n|\n)+)"


def blocks(name, pattern):
    found = re.findall(pattern, (ROOT / name).read_text(), re.M)
    return [re.sub("^ {4}", "", block, flags=re.M) for block in found]


RUNNABLE = [
    block for name in NAMES for block in blocks(name, r"^\.\. runnable\n" + BLOCK.format("bash"))
]
PROGRAMS = [  # those that compute something
    program
    for name in ("README.rst", "docs/api.rst")
    for program in blocks(name, BLOCK.format("python"))
    if "print(session.run(" in program
]


@pytest.mark.parametrize("block", RUNNABLE)
def test_a_shell_block_marked_as_runnable_runs(block):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = run(["bash", "-euc", block], PATH=path)
    assert done.returncode == 0, done.stderr


# All want the same cluster and get one, for each of its servers imports TensorFlow.
SHARED = """
import contextlib, sys
import tfmesos
from tfmesos import Job

jobs = [Job("ps", 2), Job("worker", 2)]
with tfmesos.cluster(jobs) as c:
    def cluster(wanted):
        assert wanted == jobs
        return contextlib.nullcontext(c)

    tfmesos.cluster = cluster
    for program in sys.argv[1:]:
        exec(program)
"""


@pytest.mark.skipif(not importlib.util.find_spec("tensorflow"), reason="needs TensorFlow")
def test_every_program_that_a_document_shows_prints_42():
    done = run([sys.executable, "-c", SHARED, *PROGRAMS])
    assert (done.returncode, done.stdout) == (0, "42\n42\n"), done.stderr


def test_there_is_something_to_run():
    assert len(RUNNABLE) == 2
    assert len(PROGRAMS) == 2


def run(command, **variables):
    env = environment(**variables)
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
