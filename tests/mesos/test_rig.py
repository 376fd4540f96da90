"""What the other tests here stand on."""

from __future__ import annotations

import pytest

from . import build, conftest, egg


def test_another_library_than_the_one_we_know_is_refused():
    with pytest.raises(SystemExit, match=r"has the sha256 [0-9a-f]{64}, expected 4940ebb"):
        egg.checked(b"something else")


def test_without_a_compiler_there_is_a_reason_and_a_way_out(monkeypatch):
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(build.platform, "machine", lambda: "x86_64")
    with pytest.raises(build.CannotRun, match=r"g\+\+ is missing: apt-get install g\+\+"):
        build.check_machine()


def test_on_another_machine_there_is_a_reason(monkeypatch):
    monkeypatch.setattr(build.platform, "machine", lambda: "aarch64")
    with pytest.raises(build.CannotRun, match="for Linux on x86_64 only"):
        build.check_machine()


@pytest.mark.parametrize("ci, outcome", [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_what_cannot_run_is_skipped_at_home_and_fails_on_ci(monkeypatch, ci, outcome):
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="no compiler"):
        conftest.unavailable("no compiler")


def test_every_process_of_the_cluster_can_be_seen_and_ends_with_it(rig, tmp_path):
    with conftest.Mesos(rig, tmp_path / "mesos") as mesos:
        master = mesos.start("node-1", "node-2")
        assert master.agents() == ["node-1", "node-2"]
        assert mesos.tasks() == []
    assert [host.process.returncode for host in mesos.hosts] == [-9, -9, -9]
