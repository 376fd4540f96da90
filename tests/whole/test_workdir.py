"""What a run leaves in the directory for temporary files, and what it removes there."""

import os
import subprocess
import sys
from pathlib import Path

from tests.bounds import HANG
from tests.commands import tfrun
from tests.engines.local.test_scratch_directory import left_over


def test_a_run_clears_away_what_another_had_no_files_left_to_remove():
    """14 open files are too few for a run, and to remove what it has made."""
    place = Path(os.environ["TMPDIR"])
    few = f"ulimit -n 14; exec {sys.executable} -m tfmesos -w 1 -- true"
    starved = subprocess.run(["/bin/sh", "-c", few], capture_output=True, text=True, timeout=HANG)
    assert starved.returncode != 0
    left_over(place)  # for the next run, whatever the starved one managed to do
    assert tfrun("-w", 1, "--", "true").returncode == 0
    assert list(place.iterdir()) == []
