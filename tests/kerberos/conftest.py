"""The realm of these tests."""

from __future__ import annotations

import pytest

from tests.mesos.genuine.conftest import unavailable

from .realm import CannotRun, Realm


@pytest.fixture(scope="session")
def realm(tmp_path_factory):
    try:
        made = Realm(tmp_path_factory.mktemp("realm"))
    except CannotRun as reason:
        unavailable(f"no Kerberos realm can run here: {reason}")
    with made.running():
        yield made
