"""What this machine is asked for, beside what it has."""

from __future__ import annotations

import pytest

from tests.sentences import names
from tfmesos.config.job import Job
from tfmesos.engines.local.demand import check_number, excess
from tfmesos.errors import ResourcesError

HAS = {"cpus": 2.0, "mem": 8000.0, "disk": 500.0}


@pytest.mark.parametrize(
    "jobs, said",
    [
        ([Job("worker", 1, cpus=100)], "cpus 100 (it has 2)"),
        ([Job("worker", 2, mem=5000)], "mem 10000 (it has 8000)"),
        (
            [Job("worker", 3, cpus=2, disk=200)],
            "cpus 6 (it has 2), disk 600 (it has 500)",
        ),
        ([Job("worker", 1, cpus=2, mem=8000, disk=500)], ""),
        ([Job("ps", 1, cpus=2), Job("worker", 1, cpus=0.5)], "cpus 2.5 (it has 2)"),
        ([Job("worker", 100)], ""),  # nobody asked for the defaults
        ([Job("worker", 100, cpus=0.01)], ""),
    ],
)
def test_what_was_asked_for_beyond_what_the_machine_has_is_said_with_both(jobs, said):
    assert excess(jobs, HAS) == said


def test_a_machine_is_not_asked_for_more_runners_than_its_memory_holds():
    check_number(1000, 6000.0)
    with pytest.raises(ResourcesError) as caught:
        check_number(100_000, 24_103.4)
    said = str(caught.value)
    assert names(said, "100,000 tasks", "600,000 MiB", "24,103", "ask for fewer", "with -m")
