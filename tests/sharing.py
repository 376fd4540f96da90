"""Which tests one worker of pytest-xdist runs, for they share something, such as a costly engine.

Not its own mark for that: with pytest 9.2 pytest-xdist 3.8 passes over it without a word.
"""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

TOGETHER = (
    "tests/docker/",  # an engine
    "tests/kubernetes/genuine/",  # a cluster
    "tests/node/task/test_secret_files.py",  # /dev/shm, where some look for leftovers
    "tests/slurm/",  # a cluster
    "tests/whole/test_placement.py",  # a Mesos
)
GIVEN = "given"  # the master that TFMESOS_TEST_MASTER names, as a parameter


class Sharing(LoadScopeScheduling):
    """All tests that share something go to one worker, every other to the next that is free."""

    def _split_scope(self, nodeid: str) -> str:
        for place in TOGETHER:
            if nodeid.startswith(place):
                return place
        parameters = nodeid.partition("[")[2]
        return GIVEN if GIVEN in parameters else nodeid
