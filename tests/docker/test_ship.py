"""A program that is in no image and on no volume runs in a container all the same."""

from __future__ import annotations

from tests.commands import tfrun
from tests.packs import write

from .containers import TYPES

TRAIN = "import os, package.model; print(package.model.ANSWER, os.getcwd())"


@TYPES
def test_a_program_is_shipped_into_a_container(base, type, tmp_path):
    write(tmp_path, train_py=TRAIN, package__model_py="ANSWER = 42")
    flags = ("--ship", "-w", 2, "-C", type, "--image", base)
    done = tfrun(*flags, "--", "python3", "train.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = "42 /mnt/mesos/sandbox/ship"
    assert sorted(done.stdout.splitlines()) == [f"[worker:0] {shown}", f"[worker:1] {shown}"]
