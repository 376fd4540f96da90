"""No space is left where the sandboxes are."""

from __future__ import annotations

import os
import re
import sys

import pytest

from tests.commands import tfrun, without_waits
from tests.disks import small_disk
from tests.packs import write
from tfmesos.errors import NODE_REFUSED

from .stage import Mesos, background


@pytest.fixture
def tiny_disk(request, tmp_path):
    """A file system of 1 MB, or of what else the test asks for."""
    with small_disk(tmp_path / "tiny", getattr(request, "param", "size=1m")) as place:
        yield place


def fill(place):
    with open(place / "filling", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(4096))


@pytest.mark.bound(30)
def test_a_full_disk_costs_the_sandbox_its_copy_and_the_run_nothing(tiny_disk, bound):
    code = "for i in range(40000): print('%05d' % i, 'x' * 90)"
    with background() as here:
        mesos = Mesos(here, "node-1", work_dir=tiny_disk / "work")
        bound.struck()
        done = tfrun("-m", mesos.url, "-w", 1, "--", sys.executable, "-c", code, timeout=bound.left)
    assert done.returncode == 0, done.stderr
    assert [line.split()[1] for line in done.stdout.splitlines()] == [
        f"{i:05d}" for i in range(40000)
    ]
    assert os.statvfs(tiny_disk).f_bavail == 0, "the disk never was full"


@pytest.mark.bound(30)
def test_a_disk_that_is_full_before_the_start_costs_the_run_nothing(tiny_disk, bound):
    with background() as here:
        mesos = Mesos(here, "node-1", work_dir=tiny_disk / "work")
        fill(tiny_disk)
        bound.struck()
        done = tfrun("-m", mesos.url, "-w", 1, "--", "echo", "x", timeout=bound.left)
    assert (done.returncode, done.stdout) == (0, "[worker:0] x\n"), done.stderr


NO_ROOM = (
    ("size=1m", r"no space left on device: they need 3\.0 MB, but only [01]\.\d MB is free"),
    ("nr_inodes=60,size=50m", "No space left on device"),  # which nobody can know before
)


@pytest.mark.bound(60)
@pytest.mark.parametrize("tiny_disk, why", NO_ROOM, indirect=["tiny_disk"])
def test_a_node_without_room_for_what_is_shipped_is_named_and_nothing_is_left_there(
    tiny_disk, why, tmp_path, bound
):
    files = {f"file{number}_bin": os.urandom(3 * 2**20 // 50) for number in range(50)}
    project = write(tmp_path / "project", **files)
    with background() as here:
        mesos = Mesos(here, "node-1", work_dir=tiny_disk / "work")
        bound.struck()
        flags = ("-m", mesos.url, "--ship", "--restarts", 0, "-w", 1)
        done = tfrun(*flags, "--", "echo began", cwd=project, timeout=bound.left)
        copies = list((tiny_disk / "work").glob("**/ship"))
    assert (done.returncode, done.stdout, copies) == (NODE_REFUSED, "", [])
    first = without_waits(done.stderr).splitlines()[0]
    assert re.fullmatch(rf"tfrun: worker:0 could not unpack .*: {why} on node-1", first), (
        done.stderr
    )
