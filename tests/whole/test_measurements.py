"""What tasks use can be looked up while they run and afterwards."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.bounds import HANG
from tests.commands import finish, running_tfrun, tfrun
from tfmesos.runs.measurements import read_measurements

HELD = "held = b'x' * (64 << 20)\nwhile True: pass"
MIB = 1024 * 1024


@pytest.mark.timeout(HANG)
def test_the_status_of_a_run_and_its_record_tell_what_its_tasks_use(recorded_runs):
    with running_tfrun("-w", "1", "--", sys.executable, "-c", HELD) as process:
        uses = re.compile(r"worker:0  running .* \d+ % cpu \d+(\.\d)? MB")
        while not uses.search(shown := tfrun("status").stdout):
            assert process.poll() is None, shown
        (task,) = json.loads(tfrun("status", "--json").stdout)["tasks"]
        process.terminate()
        finish(process)
    assert task["usage"]["cpu"] > 0 and 64 * MIB < task["usage"]["memory"] < 128 * MIB
    (path,) = recorded_runs.glob("tfmesos/runs/*/measurements.jsonl")
    assert task["usage"] in list(read_measurements(path))
    assert "cpu" not in tfrun("status").stdout.partition("worker:0")[2]
