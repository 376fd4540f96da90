"""What a type checker says of programs that use tfmesos."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROGRAM = """
from tfmesos import Job, Outcome, Settings, TFMesosScheduler, cluster

jobs = [{"name": "ps", "num": 1}, {"name": "worker", "num": 2}]
shared: Settings = {"master": "mesos:5050", "start_timeout": 60, "image": None}
with cluster(jobs, hang_timeout=3, volumes={"/a": "/b"}) as c:
    outcome: Outcome = c.wait()
    targets: dict[str, str] = c.targets
cluster(Job("worker", 1), wait=False, **shared)
TFMesosScheduler(jobs, "ml", "mesos:5050", quiet=True, extra_config={"initializer": "true"})
TFMesosScheduler(task_spec=jobs, role="ml")

cluster(5)  # wrong
cluster("job.yaml", hang_timeout="5m")
cluster(jobs, hang_timeot=3)  # wrong
cluster(jobs, hang_timeout=[3])  # wrong
cluster(jobs, False)  # wrong
TFMesosScheduler(5)  # wrong
TFMesosScheduler(jobs, quite=True)  # wrong
TFMesosScheduler(jobs, 5)  # wrong
TFMesosScheduler(jobs, "ml", "mesos:5050", "a name", "quiet")  # wrong
TFMesosScheduler(jobs, None, None, None, False, 5)  # wrong
TFMesosScheduler(jobs, master=5)  # wrong
Job("worker", nun=1)  # wrong
"""


def test_a_type_checker_finds_wrong_jobs_and_settings(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", str(program)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    # Not the whole path: mypy repeats what it found in an equal file of an earlier test.
    found = set(map(int, re.findall(r"^\S*program\.py:(\d+): error: ", done.stdout, re.M)))
    lines = PROGRAM.splitlines()
    assert found == {number for number, line in enumerate(lines, 1) if "# wrong" in line}
