"""The image tfmesos/tfmesos, used as TFMesos's README has it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

from tests.commands import environment, standing_mesos, without_waits
from tests.sentences import names

from .conftest import LENT
from .engine import REPOSITORY

HELLO = ("sh", "-c", "echo {job_name} {task_index} of {worker_hosts}")
MNIST = REPOSITORY / "examples" / "mnist"
REPLICA = (
    *("python", "mnist_replica.py", "--ps_hosts", "{ps_hosts}", "--worker_hosts", "{worker_hosts}"),
    *("--job_name", "{job_name}", "--worker_index", "{task_index}"),
)


@pytest.mark.parametrize("user", ["0", "12345"])
def test_without_a_mesos_the_tasks_run_in_the_same_container(docker, image, user):
    done = docker(
        "run", "--rm", "--net=host", "-u", user, image, "tfrun", "-w", 2, "-s", 1, "--", *HELLO
    )
    lines = sorted(done.stdout.splitlines())
    assert [line.partition(" of ")[0] for line in lines] == [
        "[ps:0] ps 0",
        "[worker:0] worker 0",
        "[worker:1] worker 1",
    ]
    assert names(without_waits(done.stderr), "tfrun: ", "no Docker", "instead", "tfmesos/tfmesos")


def test_another_image_needs_an_engine_even_there(docker, image):
    command = ("tfrun", "-w", 1, "--image", "other", "--", "true")
    done = docker("run", "--rm", "--net=host", image, *command, check=False)
    assert done.returncode == 75 and "the image other needs Docker" in done.stderr


@pytest.mark.parametrize("type", ["mesos", "docker"])
def test_with_a_mesos_each_task_has_a_container_of_the_image(docker, image, type):
    show = ("sh", "-c", "echo $(id -u) $DOCKER_IMAGE in $(hostname); test -e /.dockerenv")
    with standing_mesos() as url:
        done = docker(
            *("run", "--rm", "--net=host", "-e", f"MESOS_MASTER={url}", image),
            *("tfrun", "-w", 2, "-C", type, "-n", "me", "--", *show),
        )
    assert done.stdout.count(" tfmesos/tfmesos in ") == 2


def test_the_simple_test_of_the_readme_adds_up(docker, image, tensorflow):
    """It has no Mesos here: the servers are processes of the container."""
    lent, _ = tensorflow
    plus = f"{REPOSITORY}/examples/plus.py:/tmp/plus.py"
    done = docker("run", "--rm", "--net=host", *lent, "-v", plus, image, "python", "/tmp/plus.py")
    assert done.stdout.split()[-1] == "42"


def test_the_fine_grained_mode_of_the_readme_trains_in_a_container(docker, image, tensorflow):
    lent, _ = tensorflow
    done = docker(
        *("run", "--rm", "--net=host", *lent, "-v", f"{MNIST}:/tmp/mnist:ro", "-u", "65534"),
        *("-w", "/tmp/mnist", image, "python", "mnist.py", "--steps", 60),
        check=False,  # so few steps do not suffice to learn much
    )
    assert "accuracy" in done.stdout, done.stderr


IN_GRAPH = """
import sys
from tfmesos import Job, cluster

image, volume = sys.argv[1:]
lent = dict(volumes=[volume], env={"PYTHONPATH": volume.split(":")[1]})
jobs = [Job("ps", 2, mem=2048), Job("worker", 2, mem=2048)]
with cluster(jobs, image=image, quiet=True, wait=False, **lent) as c:
    import tensorflow as tf

    with tf.Graph().as_default(), tf.device("/job:ps/task:1"):
        answer = tf.constant(42)
        with tf.compat.v1.Session(c.targets["/job:worker/task:0"]) as session:
            print(session.run(answer))
"""


def test_a_program_on_the_host_drives_servers_in_containers(docker, base, tensorflow):
    _, volume = tensorflow
    command = [sys.executable, "-c", IN_GRAPH, base, volume]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.stdout == "42\n", done.stderr


def test_a_user_without_a_name_may_use_the_engine_of_the_host(
    docker, image, shared, engine_address
):
    """tfrun in a container and its tasks beside it: what they share has the same path in both."""
    socket = engine_address.removeprefix("unix://")
    os.chmod(socket, 0o666)
    program = shutil.which("docker")
    done = docker(
        *("run", "--rm", "--net=host", "-u", "12345", "-v", f"{socket}:/var/run/docker.sock"),
        *("-v", f"{program}:/usr/bin/docker:ro", "-v", f"{shared}:{shared}"),
        *("-e", f"TMPDIR={shared}", image, "tfrun", "-w", 2, "-V", f"{shared}:/out", "--"),
        "echo $(id -u) with $MESOS_SANDBOX; touch /out/$TFMESOS_TASK_INDEX",
    )
    assert sorted(done.stdout.splitlines()) == [
        "[worker:0] 12345 with /mnt/mesos/sandbox",
        "[worker:1] 12345 with /mnt/mesos/sandbox",
    ]
    owners = {path.name: path.stat().st_uid for path in shared.iterdir()}
    assert owners == {"0": 12345, "1": 12345}


def test_the_replica_mode_of_the_readme_trains_in_containers(docker, image, tensorflow, shared):
    """On a Mesos, as a user with a number only; TensorFlow is lent to launcher and tasks alike."""
    lent, volume = tensorflow
    with standing_mesos() as url:
        done = docker(
            *("run", "--rm", "-e", f"MESOS_MASTER={url}", "--net=host", *lent),
            *("-v", f"{MNIST}:/nfs/mnist", "-v", "/etc/passwd:/etc/passwd:ro"),
            *("-v", "/etc/group:/etc/group:ro", "-u", "65534", "-w", "/nfs/mnist", image),
            *("tfrun", "-w", 1, "-s", 1, "-V", f"{MNIST}:/nfs/mnist", "-Mw", 4096, "-Ms", 4096),
            *("-V", volume, "--env", f"PYTHONPATH={LENT}"),
            *("--", *REPLICA, "--train_steps", 50),
        )
    assert "accuracy" in done.stdout
