"""Roles on a genuine Mesos: reserved resources beside those for everybody."""

from __future__ import annotations

from tests.commands import tfrun


def test_a_task_takes_what_is_reserved_for_its_role_and_what_is_free_for_all(mesos):
    master = mesos.start_master()
    mesos.start_agent("node-1", "cpus(ml):2;mem(ml):1024;cpus:2;mem:4096")
    master.wait_for("node-1")
    done = tfrun("-m", master.address, "-r", "ml", "-w", 1, "-Cw", 4, "-Mw", 2048, "--", "echo x")
    assert (done.returncode, done.stdout) == (0, "[worker:0] x\n"), done.stderr
