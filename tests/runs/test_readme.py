"""The commands of the README run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands import environment

ROOT = Path(__file__).parents[2]
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
