"""The containers of a run, and what it said."""

from __future__ import annotations

import pytest

TYPES = pytest.mark.parametrize("type", ["MESOS", "DOCKER"])


def existing(docker):
    """The ids of all containers.

    Those that run are no answer: a container is listed as such only some time after its first
    process has spoken, and a dead one is left as well. From the time it is made it is in this list.
    """
    return docker("ps", "--all", "--quiet").stdout.split()
