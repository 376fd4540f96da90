"""Roles on a genuine Mesos: reserved resources beside those for everybody."""

from __future__ import annotations

from tests.commands import finish, read_until, running_tfrun, tfrun


def test_a_task_takes_what_is_reserved_for_its_role_and_what_is_free_for_all(mesos):
    master = mesos.start_master()
    mesos.start_agent("node-1", "cpus(ml):2;mem(ml):1024;cpus:2;mem:4096")
    master.wait_for("node-1")
    done = tfrun("-m", master.address, "-r", "ml", "-w", 1, "-Cw", 4, "-Mw", 2048, "--", "echo x")
    assert (done.returncode, done.stdout) == (0, "[worker:0] x\n"), done.stderr


def test_a_wait_names_the_quota_of_the_role(mesos):
    master = mesos.start("node-1")
    config = {"role": "ml", "limits": {"cpus": {"value": 1}}}
    quota = {"type": "UPDATE_QUOTA", "update_quota": {"quota_configs": [config]}}
    assert master.post("/api/v1", quota) == 200
    size = ("-r", "ml", "-w", 2, "-Cw", 1)
    with running_tfrun("-m", master.address, *size, "--", "true") as run:
        (*_, said) = read_until(run.stderr, "the quota of the role 'ml' allows cpus 1")
        config["limits"]["cpus"]["value"] = 2
        assert master.post("/api/v1", quota) == 200
        _, err = finish(run)
    assert run.returncode == 0, (said, err)
