"""A signal ends tfrun, whatever it does with the user's files just then."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment, tfrun
from tests.packs import write

# A thread that waits for a dead disk, or computes on and on.
STUCK = """
import os, sys, threading
from tfmesos.launcher.ship import {module}

def hang(*_, **__):
    os.write(1, b"stuck")
    {what}

{place} = hang
from tfmesos.tfrun import script
script()
"""
WAITS, COMPUTES = "threading.Event().wait()", "while True: pass"
WALK, UNPACK = ("tree", "tree.Tree.add_directory"), ("fetch", "fetch.unpack")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("what", [WAITS, COMPUTES])
@pytest.mark.parametrize("where", [WALK, UNPACK])
def test_a_signal_ends_a_run_whose_thread_never_comes_back(tmp_path, where, what, number):
    project = write(tmp_path / "project", train_py="")
    (tmp_path / "job.zip").write_bytes(b"PK\x05\x06" + bytes(18))
    (tmp_path / "tmp").mkdir()
    shipped = project if where is WALK else tmp_path / "job.zip"
    module, place = where
    code = STUCK.format(module=module, place=place, what=what)
    process = subprocess.Popen(
        [sys.executable, "-c", code, "-w", "1", f"--ship={shipped}", "--", "true"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(TMPDIR=str(tmp_path / "tmp")),
    )
    with process:
        assert os.read(process.stdout.fileno(), 5) == b"stuck"
        process.send_signal(number)
        _, said = process.communicate(timeout=HANG)
    assert process.returncode == 128 + number, said
    assert b"Traceback" not in said
    assert os.listdir(tmp_path / "tmp") == []


@pytest.mark.parametrize("name", [".gitignore", ".tfignore"])
def test_a_fifo_in_the_place_of_a_file_with_rules_is_one_line(tmp_path, name):
    os.mkfifo(tmp_path / name)
    done = tfrun("-w", 1, "--ship", "--", "true", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (66, "")
    (line,) = done.stderr.splitlines()
    assert name in line and "not a regular file" in line


@pytest.mark.parametrize(
    "flags", [("job.yaml",), ("--env-file", "job.yaml", "-w", 1, "--", "true")]
)
def test_a_fifo_that_a_setting_names_is_one_line(tmp_path, flags):
    os.mkfifo(tmp_path / "job.yaml")
    done = tfrun(*flags, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (66, "")
    (line,) = done.stderr.splitlines()
    assert "job.yaml" in line and "not a regular file" in line


def test_links_that_cannot_be_read_are_one_line(tmp_path):
    done = tfrun("-w", 1, "--ship=/proc/1", "--", "true")
    assert done.returncode in (2, 66), done.stderr
    assert len(done.stderr.splitlines()) == 1 and "/proc/1" in done.stderr
