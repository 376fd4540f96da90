"""Images that are pulled, missing, or not what they should be; and engines without an answer."""

from __future__ import annotations

import os
import signal
import socket

import pytest

from tests.commands import finish, read_until, running_tfrun, standing_mesos, tfrun, without_waits
from tests.sentences import names

from .containers import TYPES
from .registry import running_registry

BAD = "127.0.0.1:9/no/such"  # nothing listens there


@pytest.mark.parametrize(
    "flags, code, message",
    [
        (("--image", BAD), 2, f"--image cannot be used: Failed to pull image '{BAD}': "),
        (("--image", "BASE", "-f"), 2, "--image cannot be used: Failed to pull image"),
        (("--image", "BASE", "-V", "/no/dir:/x"), 2, "-V/--volume /no/dir:/x: there is no /no/dir"),
        (("--image", "BASE", "-V", "/etc:x"), 2, "-V/--volume must name absolute paths, got 'x'"),
        (
            ("--image", "BASE", "--user", "nosuchuser"),
            2,
            "--user 'nosuchuser': there is no such user",
        ),
        (("--image", "BASE", "-Gw", "0.5"), 2, "-Gw/--worker-gpus must be a whole number, got 0.5"),
    ],
)
def test_bad_input_is_one_clear_line_and_starts_nothing(base, flags, code, message):
    flags = [base if flag == "BASE" else flag for flag in flags]
    done = tfrun("-w", 1, *flags, "--", "true")
    said = without_waits(done.stderr).splitlines()
    complaints = [line for line in said if "pulling" not in line]
    assert (done.returncode, done.stdout, len(complaints)) == (code, "", 1), done.stderr
    assert message in complaints[0]


def test_an_image_is_pulled_when_it_is_missing_and_when_it_is_forced(docker):
    with running_registry() as (image, asked):
        once = ("-w", 1, "--restarts", 0, "--image", image, "--", "true")
        done = tfrun(*once)
        assert f"tfrun: pulling {image}" in done.stderr
        assert done.returncode and 'exec: "/bin/sh"' in done.stderr  # it is there, and hollow
        assert "no such Python" in done.stderr
        asked.clear()
        assert "pulling" not in tfrun(*once).stderr
        assert asked == []
        assert "pulling" in tfrun("-f", *once).stderr
        assert "/v2/hollow/manifests/1" in asked
        docker("rmi", image)


@pytest.fixture
def deaf_registry():
    """A registry that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}/some/image"


def test_a_pull_that_takes_too_long_is_given_up(base, deaf_registry):
    done = tfrun("-w", 1, "--image", deaf_registry, "--start-timeout", 1, "--", "true")
    assert done.returncode == 75
    assert f"not started after 1 s: still pulling {deaf_registry}" in done.stderr


def test_a_pull_can_be_interrupted(base, deaf_registry):
    with running_tfrun("-w", 1, "--image", deaf_registry, "--", "true") as process:
        read_until(process.stderr, "pulling")
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130


def test_an_engine_that_never_answers_does_not_hold_an_interrupt_up(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "deaf.sock"))
        listener.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/deaf.sock")
        with running_tfrun("-w", 1, "--image", "some/image", "--", "true") as process:
            with listener.accept()[0]:
                process.send_signal(signal.SIGINT)
                finish(process)
    assert process.returncode == 130


def test_an_image_without_python_is_named_as_the_fault(docker, base):
    docker("build", "--tag", "snakeless", "-", input=f"FROM {base}\nRUN rm /usr/bin/python3\n")
    done = tfrun("-w", 1, "--image", "snakeless", "--", "true")
    assert done.returncode == 127
    assert "exec: python3: not found" in done.stderr
    assert "no such Python" in done.stderr
    assert "restart" not in done.stderr


def test_a_parameter_that_docker_does_not_know_is_told_in_its_words(base, docker):
    with standing_mesos() as url:
        done = tfrun(
            "-m", url, "-w", 1, "-C", "docker", "--user", "x y", "--image", base, "--", "true"
        )
    assert done.returncode == 1 and "unable to find user x y" in done.stderr


@pytest.mark.parametrize(
    "env, reason",
    [
        ({"PATH": "/no/such"}, "no docker command"),
        (
            {"DOCKER_HOST": "unix:///no/such"},
            "Cannot connect to the Docker daemon at unix:///no/such",
        ),
        (
            {"DOCKER_HOST": "ssh://me@192.0.2.1"},
            "DOCKER_HOST=ssh://me@192.0.2.1 is the engine of another machine",
        ),
    ],
)
def test_no_engine_is_said_at_once(env, reason):
    done = tfrun("-w", 1, "--image", "some/image", "--", "true", env=env)
    assert done.returncode == 75 and without_waits(done.stderr).count("\n") == 1
    assert names(without_waits(done.stderr), "some/image", "Docker", "(-m)")
    assert reason in done.stderr


@TYPES
def test_a_task_asks_docker_for_its_own_gpus_and_an_engine_without_any_is_named(
    base, tmp_path, type
):
    """No GPU is here, so Docker's refusal is all there can be."""
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\necho 'GPU 0: Fake (UUID: GPU-0)'\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    flags = ("-w", 1, "-Gw", 1, "--restarts", 0, "-C", type, "--image", base)
    done = tfrun(*flags, "--", "true", env={"PATH": path})
    assert done.returncode == 1 and "could not select device driver" in done.stderr
    assert "no GPU support" in done.stderr
