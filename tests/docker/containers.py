"""The containers of a run, and what it said."""

from __future__ import annotations

import pytest

TYPES = pytest.mark.parametrize("type", ["MESOS", "DOCKER"])


def running(docker):
    return docker("ps", "--quiet").stdout.split()
