"""No space is left where the sandboxes are."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.commands import tfrun

from .stage import Mesos, background


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 1 MB."""
    place = tmp_path / "tiny"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"only who may mount a tmpfs can fill a disk: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


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
