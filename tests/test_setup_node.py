"""The script that sets up a node: what it would do, and what it refuses."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.mesos.genuine.conftest import unavailable

REPOSITORY = Path(__file__).parents[1]
IP = ("--ip", "10.0.0.7")
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
    done = setup_node("agent", "--master", "zk://a,b/mesos", *IP, "--attributes", "rack:r1")
    assert flags_of(done) == [
        "--master=zk://a,b/mesos",
        "--ip=10.0.0.7",
        "--credential=/etc/mesos/secrets/agent.json",
        "--authenticate_http_readwrite=true",
        "--http_credentials=/etc/mesos/secrets/agent-http.json",
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
    done = setup_node("agent", "--master", "m:5050", *IP, "--gpu", "mesos", path=gpus)
    isolation = next(flag for flag in flags_of(done) if flag.startswith("--isolation="))
    assert isolation.endswith(",cgroups/devices,gpu/nvidia")
    assert "--resources" not in done.stdout


def test_gpus_for_docker_are_named_and_the_toolkit_is_set_up(gpus):
    done = setup_node("agent", "--master", "m:5050", *IP, "--gpu", "docker", path=gpus)
    assert "--resources=gpus:{GPU-a,GPU-b}" in flags_of(done)
    assert "gpu/nvidia" not in done.stdout
    assert "+ nvidia-ctk runtime configure --runtime=docker\n" in done.stdout


@pytest.mark.parametrize("kind", ["mesos", "docker"])
def test_a_dry_run_with_gpus_needs_none(kind):
    assert shutil.which("nvidia-smi") is None
    done = setup_node("agent", "--master", "m:5050", *IP, "--gpu", kind)
    assert ("--resources=gpus:{UUID,...}" in flags_of(done)) == (kind == "docker")


def test_a_master_is_elected_by_zookeeper_and_lets_nobody_in_without_credentials():
    done = setup_node("master", "--zk", "zk://a,b,c/mesos", *IP, "--quorum", "2")
    assert flags_of(done) == [
        "--zk=zk://a,b,c/mesos",
        "--ip=10.0.0.7",
        "--credentials=/etc/mesos/secrets/credentials.json",
        "--authenticate_agents=true",
        "--authenticate_frameworks=true",
        "--authenticate_http_frameworks=true",
        "--http_framework_authenticators=basic",
        "--authenticate_http_readonly=true",
        "--authenticate_http_readwrite=true",
        "--quorum=2",
        "--work_dir=/var/lib/mesos",
    ]
    assert "+ write /etc/mesos/secrets/credentials.json, for its owner only" in done.stdout


def make_secrets(directory):
    command = [REPOSITORY / "misc" / "setup-node.sh", "secrets", "--secrets", directory]
    return subprocess.run(command, capture_output=True, text=True)


def test_credentials_are_made_once_and_only_their_owner_can_read_them(tmp_path):
    directory = tmp_path / "secrets"
    done = make_secrets(directory)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    known = json.loads((directory / "credentials.json").read_text())["credentials"]
    agent = json.loads((directory / "agent.json").read_text())
    framework = {"principal": "tfmesos", "secret": (directory / "tfmesos").read_text().strip()}
    assert known == [agent, framework]
    assert json.loads((directory / "agent-http.json").read_text()) == {"credentials": [agent]}
    assert all(re.fullmatch("[0-9a-f]{64}", one["secret"]) for one in known)
    assert agent["secret"] != framework["secret"]
    modes = {path.name: path.stat().st_mode & 0o777 for path in [directory, *directory.iterdir()]}
    assert modes.pop("secrets") == 0o700 and set(modes.values()) == {0o600}
    again = make_secrets(directory)
    assert (again.returncode, "there are credentials already" in again.stderr) == (2, True)
    assert json.loads((directory / "agent.json").read_text()) == agent


def test_a_dry_run_neither_makes_nor_shows_a_secret(tmp_path):
    done = setup_node("secrets", "--secrets", tmp_path / "secrets")
    assert done.returncode == 0 and list(tmp_path.iterdir()) == []
    assert not re.search("[0-9a-f]{64}", done.stdout + done.stderr)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((), "usage: setup-node.sh secrets"),
        (("agent",), "an agent needs --master"),
        (("master", "--zk", "a:2181"), "a master needs --zk zk://HOSTS/PATH, got 'a:2181'"),
        (("agent", "--master", "m"), "--ip must be an address of this machine, got ''"),
        (("agent", "--master", "m", "--ip", "h"), "--ip must be an address of this machine"),
        (
            ("agent", "--master", "m", *IP, "--secrets", "/no/such"),
            "/no/such/agent.json is missing: copy it from a master",
        ),
        (("agent", "--master", "m", *IP, "--gpu", "amd"), "--gpu must be mesos or docker, got"),
        (("secrets", "--secrets", "x"), "--secrets must be an absolute path, got 'x'"),
        (("agent", "--gpu"), "--gpu needs a value"),
        (("agent", "--frob"), "unknown option: --frob"),
        (("agent", "--master", "m", *IP, "--work-dir", "x"), "--work-dir must be an absolute path"),
        (
            ("master", "--zk", "zk://a/b", *IP, "--quorum", "0"),
            "--quorum must be a whole number above 0",
        ),
    ],
)
def test_bad_input_is_said_and_nothing_is_done(arguments, message):
    done = subprocess.run(
        [REPOSITORY / "misc" / "setup-node.sh", *arguments], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr
