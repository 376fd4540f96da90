from __future__ import annotations

import json
import subprocess
import sys

import pytest

CODE = """
import json, resource, sys
from tfmesos.launcher.open_files import allow_tasks
soft, hard, tasks = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(json.dumps([allow_tasks(tasks), *resource.getrlimit(resource.RLIMIT_NOFILE)]))
"""


@pytest.mark.parametrize(
    "soft, hard, tasks, expected",
    [
        (1024, 4096, 100, [100, 1024, 4096]),
        (1024, 4096, 1000, [1000, 3256, 4096]),
        (1024, 4096, 5000, [1280, 4096, 4096]),
        (64, 64, 10, [0, 64, 64]),
    ],
    ids=["enough", "raised", "as far as it goes", "tight"],
)
def test_the_limit_of_open_files_is_raised_for_many_tasks_only(soft, hard, tasks, expected):
    command = [sys.executable, "-c", CODE, str(soft), str(hard), str(tasks)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert json.loads(done.stdout) == expected
