"""However a run with an image ends, no container of it is left."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.processes import commands_below

from .containers import existing


def test_two_interrupts_end_a_run_that_will_not_stop(docker, base):
    stubborn = "trap 'echo I will not' TERM; echo up; while :; do sleep 0.1; done"
    patient = ("--stop-grace", "1h")  # it would wait so long after the first
    with running_tfrun("-w", 1, *patient, "--image", base, "--", stubborn) as process:
        read_until(process.stdout, "up")
        process.send_signal(signal.SIGINT)
        read_until(process.stdout, "I will not")
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130 and not existing(docker)


def test_a_killed_run_leaves_no_container_and_no_directory(docker, base, tmp_path, monkeypatch):
    with running_tfrun("-w", 2, "--image", base, "--", "echo up; exec sleep 600") as process:
        read_until(process.stdout, "[worker:0] up", "[worker:1] up")
        process.kill()
        process.wait()
        wait_until("no container", lambda: not existing(docker))
    scratch = Path(os.environ["TMPDIR"])
    wait_until("no directory", lambda: not list(scratch.iterdir()))


def test_a_run_killed_together_with_its_keeper_leaves_no_container(docker, base):
    with running_tfrun("-w", 1, "--image", base, "--", "echo up; exec sleep 600") as process:
        read_until(process.stdout, "up")
        children = commands_below(process.pid, recursive=False)
        (keeper,) = [child for child, words in children if "tfmesos-keeper" in words]
        keeper.kill()
        process.kill()
        process.wait()
        wait_until("no container", lambda: not existing(docker))
    for scratch in Path(os.environ["TMPDIR"]).iterdir():  # there is nobody left to remove it
        shutil.rmtree(scratch)


def test_a_run_killed_while_its_containers_are_made_leaves_none(docker, base):
    with running_tfrun("-w", 4, "--image", base, "--", "exec sleep 600") as process:
        wait_until("a container", lambda: existing(docker))
        process.kill()
        process.wait()
    scratch = Path(os.environ["TMPDIR"])
    wait_until("no directory", lambda: not list(scratch.iterdir()))
    assert existing(docker) == []


def test_a_run_interrupted_while_its_containers_are_made_leaves_none(docker, base):
    with running_tfrun("-w", 4, "--image", base, "--", "exec sleep 600") as process:
        wait_until("a container", lambda: existing(docker))
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130
    assert existing(docker) == []


def test_what_a_dead_run_left_is_removed_by_the_next_one(docker, base):
    ended = subprocess.Popen(["true"])
    ended.wait()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    here = f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    stat = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
    owners = {
        "dead": f"{here}/{ended.pid}/1",
        "living": f"{here}/{os.getpid()}/{stat}",
        "elsewhere": f"{boot}/pid:[1]/{ended.pid}/1",
    }
    for name, owner in owners.items():
        docker("create", "--name", name, "--label", f"org.tfmesos.owner={owner}", base, "true")
    assert tfrun("-w", 1, "--image", base, "--", "sleep 1").returncode == 0
    left = docker("ps", "--all", "--format", "{{.Names}}").stdout.split()
    docker("rm", *left)
    assert sorted(left) == ["elsewhere", "living"]


@pytest.mark.parametrize(
    "script", ["echo up; while :; do date; sleep 0.2; done", "echo up; exec sleep 600"]
)
def test_a_run_ends_with_its_containers_when_what_attends_one_of_them_dies(docker, base, script):
    """The container would live on; it is killed with its runner, who can report nothing then."""
    with running_tfrun("-w", 2, "--image", base, "-C", "DOCKER", "--", script) as process:
        read_until(process.stdout, "[worker:0] up", "[worker:1] up")
        children = commands_below(process.pid, recursive=False)
        attending = [it for it, words in children if Path(words[0]).name == "docker"]
        assert len(attending) == 2
        attending[0].kill()
        _, err = finish(process)
        assert existing(docker) == []
    assert process.returncode == 137, err
    assert "its last lines:\n    " in err  # as its link brought them
