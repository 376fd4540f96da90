"""The script that sets up a node: what it would do, and what it refuses."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mesos.conftest import unavailable

REPOSITORY = Path(__file__).parents[1]
SCRIPTS = [".ci/run", "misc/check.sh", "misc/setup-node.sh"]


def setup_node(*arguments, path=""):
    """Never without --dry-run: these tests change nothing."""
    return subprocess.run(
        [REPOSITORY / "misc" / "setup-node.sh", *arguments, "--dry-run"],
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": f"{path}:{os.environ['PATH']}"},
    )


@pytest.fixture
def gpus(tmp_path):
    """A directory for the PATH, with what a machine with two GPUs has."""
    for name, prints in (("nvidia-smi", "GPU-a\nGPU-b"), ("nvidia-ctk", "")):
        (tmp_path / name).write_text(f"#!/bin/sh\necho '{prints}'\n")
        (tmp_path / name).chmod(0o755)
    return str(tmp_path)


@pytest.mark.parametrize("script", SCRIPTS)
def test_shellcheck_finds_nothing(script):
    if shutil.which("shellcheck") is None:
        unavailable("shellcheck is missing: apt-get install shellcheck")
    found = subprocess.run(["shellcheck", REPOSITORY / script], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout


def flags_of(done):
    assert done.returncode == 0, done.stderr
    lines = (line.strip(' "\\') for line in done.stdout.splitlines())
    return [line for line in lines if line.startswith("--")]


def test_an_agent_runs_images_of_both_containerizers_and_keeps_the_limits():
    done = setup_node("agent", "--master", "zk://a,b/mesos", "--attributes", "rack:r1")
    assert flags_of(done) == [
        "--master=zk://a,b/mesos",
        "--work_dir=/var/lib/mesos",
        "--containerizers=docker,mesos",
        "--image_providers=docker",
        "--isolation=filesystem/linux,docker/runtime,volume/host_path,cgroups/cpu,cgroups/mem",
        "--executor_registration_timeout=10mins",
        "--attributes=rack:r1",
    ]
    assert "+ write /etc/systemd/system/mesos-agent.service:" in done.stdout
    assert done.stdout.endswith("+ systemctl enable --now mesos-agent\n")


def test_gpus_for_the_mesos_containerizer_come_by_its_isolator(gpus):
    done = setup_node("agent", "--master", "m:5050", "--gpu", "mesos", path=gpus)
    isolation = next(flag for flag in flags_of(done) if flag.startswith("--isolation="))
    assert isolation.endswith(",cgroups/devices,gpu/nvidia")
    assert "--resources" not in done.stdout


def test_gpus_for_docker_are_named_and_the_toolkit_is_set_up(gpus):
    done = setup_node("agent", "--master", "m:5050", "--gpu", "docker", path=gpus)
    assert "--resources=gpus:{GPU-a,GPU-b}" in flags_of(done)
    assert "gpu/nvidia" not in done.stdout
    assert "+ nvidia-ctk runtime configure --runtime=docker\n" in done.stdout


def test_a_master_is_elected_by_zookeeper():
    done = setup_node("master", "--zk", "zk://a,b,c/mesos", "--quorum", "2")
    wanted = ["--zk=zk://a,b,c/mesos", "--quorum=2", "--work_dir=/var/lib/mesos"]
    assert flags_of(done) == wanted


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "usage: setup-node.sh agent --master ADDRESS"),
        (("agent",), "an agent needs --master"),
        (("master", "--zk", "a:2181"), "a master needs --zk zk://HOSTS/PATH, got 'a:2181'"),
        (("agent", "--master", "m", "--gpu", "amd"), "--gpu must be mesos or docker, got 'amd'"),
        (("agent", "--gpu"), "--gpu needs a value"),
        (("agent", "--frob"), "unknown option: --frob"),
        (("agent", "--master", "m", "--work-dir", "x"), "--work-dir must be an absolute path"),
        (
            ("master", "--zk", "zk://a/b", "--quorum", "0"),
            "--quorum must be a whole number above 0",
        ),
    ],
)
def test_bad_input_is_said_and_nothing_is_done(arguments, message):
    done = subprocess.run(
        [REPOSITORY / "misc" / "setup-node.sh", *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr
