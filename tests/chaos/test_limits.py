"""The machine allows fewer processes than a run needs."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys

import pytest

from tests.commands import environment

MOST = 16  # processes and threads; more than a run of two tasks has


@pytest.fixture
def run_with(tmp_path, monkeypatch):
    """Runs tfrun as a user of its own who may have so many processes; root may have any number."""
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("only root, with setpriv of util-linux, can be a user without other processes")
    user = str(random.randrange(100_000, 1_000_000))
    os.chown(tmp_path, int(user), int(user))
    # It may read all that we can: the interpreter can be anywhere.
    may = "+dac_read_search"
    become = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups"]
    become += ["--inh-caps", may, "--ambient-caps", may]

    def run(limit, *args, timeout):
        command = [*become, "prlimit", f"--nproc={limit}", sys.executable, "-m", "tfmesos", *args]
        env = environment(TMPDIR=str(tmp_path), HOME=str(tmp_path))
        return subprocess.run(
            command, env=env, cwd="/", capture_output=True, text=True, timeout=timeout
        )

    yield run
    assert not [name for name in os.listdir(tmp_path) if name.startswith("tfmesos-")]


@pytest.mark.bound(120)
def test_a_limit_of_processes_is_named_wherever_it_is_met(run_with, bound):
    bound.struck()
    limit, codes = 0, []
    while not codes or codes[-1] != 0:
        limit += 1
        assert limit <= MOST, codes
        done = run_with(limit, "-w", "2", "--", "true", timeout=bound.left)
        codes.append(done.returncode)
        named = "no more processes are allowed" in done.stderr
        assert named or done.returncode == 0, f"{limit} processes: {done.stderr}"
        assert "Traceback" not in done.stderr and "internal error" not in done.stderr, done.stderr
    assert set(codes) == {0, 1, 71, 126}, codes
