"""Disks that are full soon."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, room: str = "size=1m") -> Iterator[Path]:
    """A file system of its own at *place*, with this much room."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", room, "tmpfs", str(place)]
    done = subprocess.run(mount, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip(f"only who may mount a tmpfs can fill a disk: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)  # a runner may still leave
