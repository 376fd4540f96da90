"""Every error says what it means."""

from __future__ import annotations

from tfmesos import errors
from tfmesos.errors import RUNNER_EXITS


def test_every_exit_code_of_the_runner_has_its_own_sentence():
    codes = [
        getattr(errors, name)
        for name in (
            "CANNOT_REACH_LAUNCHER",
            "HANDSHAKE_FAILED",
            "LAUNCHER_LOST",
            "BAD_SETTINGS",
            "PORT_TAKEN",
            "RUNNER_BROKEN",
            "NODE_REFUSED",
            "CANNOT_UNPACK",
            "OLD_PYTHON",
            "NODE_UNFIT",
        )
    ]
    assert sorted(RUNNER_EXITS) == sorted(codes)
    assert all(192 < code < 255 for code in codes)  # no signal, no usual failure
    assert len(set(RUNNER_EXITS.values())) == len(codes)
