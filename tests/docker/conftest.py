"""The engine of these tests, its images, and the surety that no container is left."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from tests.mesos.genuine.conftest import unavailable

from . import engine as real

SETTING_UP = 1800.0  # seconds; the first test makes the base image, if nobody has before


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent == Path(__file__).parent:
            item.add_marker(pytest.mark.timeout(SETTING_UP))


LENT = "/lent/site-packages"


@pytest.fixture(scope="session")
def engine_address():
    """An engine with a base image. Its sockets and its data are in a directory of its own."""
    with tempfile.TemporaryDirectory(prefix="tfmesos-engine-") as place:
        try:
            real.check_machine()
            with real.running_engine(Path(place) / "engine") as address:
                real.import_base(address)
                yield address
        except real.CannotRun as reason:
            unavailable(f"no Docker engine can run here: {reason}")


@pytest.fixture(scope="session")
def built_image(engine_address):
    """The image tfmesos/tfmesos on our engine."""
    real.build_image(engine_address)
    return real.IMAGE


@pytest.fixture
def docker(engine_address, monkeypatch):
    """The docker command; the test fails if it leaves a container."""
    monkeypatch.setenv("DOCKER_HOST", engine_address)

    def docker(*arguments, check=True, **options):
        words = ["docker", *map(str, arguments)]
        done = subprocess.run(words, capture_output=True, text=True, **options)
        assert not (check and done.returncode), done.stderr
        return done

    yield docker
    left = docker("ps", "--all", "--format", "{{.Names}} {{.Status}}").stdout
    if left:
        docker("rm", "--force", *docker("ps", "--all", "--quiet").stdout.split())
    assert not left, "containers are left"


@pytest.fixture
def base(docker):
    """An image with Python and nothing of ours."""
    return real.BASE


@pytest.fixture
def image(docker, built_image):
    return built_image


@pytest.fixture
def tensorflow():
    """Arguments that lend a container this machine's TensorFlow, and the volume alone.

    Its path in the container is one that every user may enter; that of this machine may lead
    through somebody's home directory.
    """
    import sysconfig

    volume = f"{sysconfig.get_path('purelib')}:{LENT}:ro"
    return ("-v", volume, "-e", f"PYTHONPATH={LENT}"), volume


@pytest.fixture
def shared(tmp_path):
    """A directory that any user may write into."""
    tmp_path.chmod(0o755)
    for parent in tmp_path.parents:
        if str(parent).startswith(tempfile.gettempdir()) or "pytest" in str(parent):
            os.chmod(parent, parent.stat().st_mode | 0o055)
    place = tmp_path / "shared"
    place.mkdir()
    place.chmod(0o777)
    return place
