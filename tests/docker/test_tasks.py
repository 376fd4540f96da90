"""tfrun on this machine with --image: every task in a container, and none left."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.commands import finish, read_until, running_tfrun, standing_mesos, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.ports import offered_ports
from tests.runners import environment, launcher, settings
from tfmesos.launcher import payload
from tfmesos.node.handshake import NOBODY

from .registry import running_registry

TYPES = pytest.mark.parametrize("type", ["MESOS", "DOCKER"])
GOLDEN = Path(__file__).parents[1] / "golden"


def words(done):
    return sorted(done.stdout.splitlines())


def running(docker):
    return docker("ps", "--quiet").stdout.split()


@TYPES
def test_every_task_runs_in_a_container_of_the_image(base, type):
    show = 'test -e /.dockerenv && echo "$TFMESOS_JOB_NAME $TFMESOS_TASK_INDEX: $(pwd)"'
    done = tfrun("-w", 2, "-s", 1, "-C", type, "--image", base, "--", show)
    assert done.returncode == 0, done.stderr
    place = "/mnt/mesos/sandbox"
    assert words(done) == [
        f"[ps:0] ps 0: {place}",
        f"[worker:0] worker 0: {place}",
        f"[worker:1] worker 1: {place}",
    ]
    assert "no directory" not in done.stderr  # nobody expects ours in an image


def test_a_container_has_a_name_labels_limits_and_the_network_of_the_host(docker, base):
    with running_tfrun(
        *("-w", 1, "-Cw", 0.5, "-Mw", 256, "--image", base, "-C", "docker", "--"),
        *("sh", "-c", "echo up; exec sleep 60"),
    ) as process:
        read_until(process.stdout, "up")
        (container,) = running(docker)
        (found,) = json.loads(docker("inspect", container).stdout)
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130
    assert found["Name"].startswith("/tfmesos-") and "-worker-0-1-" in found["Name"]
    limits = found["HostConfig"]
    assert (limits["NanoCpus"], limits["Memory"]) == (500_000_000, 256 * 2**20)
    assert (limits["NetworkMode"], limits["AutoRemove"]) == ("host", True)
    assert limits["MemorySwap"] == -1
    labels = found["Config"]["Labels"]
    assert "-worker-0-1" in labels["org.tfmesos.task"] and labels["org.tfmesos.owner"]


def test_the_secret_of_a_run_is_on_no_command_line(docker, base):
    look = "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"
    with running_tfrun("-w", 1, "--image", base, "--", "sh", "-c", "echo up; sleep 60") as process:
        read_until(process.stdout, "up")
        (container,) = running(docker)
        (found,) = json.loads(docker("inspect", container).stdout)
        lines = subprocess.run(["sh", "-c", look], capture_output=True, text=True).stdout
        process.send_signal(signal.SIGINT)
        finish(process)
    variables = dict(v.split("=", 1) for v in found["Config"]["Env"])
    assert len(variables["TFMESOS_SECRET"]) == 64 and variables["TFMESOS_SECRET"] not in lines


@TYPES
def test_volumes_are_seen_and_a_read_only_one_refuses_to_be_written(base, tmp_path, type):
    (tmp_path / "in,put").mkdir()
    (tmp_path / "in,put" / "text").write_text("hello\n")
    (tmp_path / "out").mkdir()
    done = tfrun(
        *("-w", 1, "-C", type, "--image", base, "-V", f"{tmp_path}/in,put:/in:ro"),
        *("-V", f"{tmp_path}/out:/out", "--", "cp /in/text /out/copy; cat /out/copy > /in/more"),
    )
    assert (tmp_path / "out" / "copy").read_text() == "hello\n"
    assert done.returncode != 0 and "Read-only file system" in done.stderr
    assert os.listdir(tmp_path / "in,put") == ["text"]


@TYPES
def test_a_user_can_be_named_and_owns_what_the_task_writes(base, shared, type):
    done = tfrun(
        *("-w", 1, "-C", type, "--image", base, "--user", "nobody", "-V", f"{shared}:/out"),
        *("--", "id -un; touch /out/mine $MESOS_SANDBOX/this"),
    )
    assert (done.returncode, done.stdout) == (0, "[worker:0] nobody\n"), done.stderr
    assert (shared / "mine").owner() == "nobody"


@pytest.mark.parametrize("mode, place", [(0o755, "/mnt/mesos/sandbox"), (0o700, "/")])
def test_an_images_user_who_may_not_write_to_the_sandbox_runs_the_task(
    docker, base, tmp_path, mode, place
):
    """The Docker containerizer gives the sandbox to root; mode 0700 may not even be entered."""
    tmp_path.chmod(mode)

    async def main():
        async with launcher() as ours:
            env = environment(settings(ours.address), MESOS_SANDBOX="/mnt/mesos/sandbox")
            where = ("--network", "host", "-v", f"{tmp_path}:/mnt/mesos/sandbox")
            variables = [word for item in env.items() for word in ("--env", "=".join(item))]
            words = ("run", "--rm", "--user", "nobody", *where, *variables, "--entrypoint", "sh")
            ours.start("id -un; pwd; touch here 2> /dev/null || echo refused", in_image=True)
            return ours, await asyncio.to_thread(
                docker, *words, base, "-c", payload.command("python3")
            )

    ours, _ = asyncio.run(main())
    assert ours.lines() == ["nobody", place, "refused"]
    assert os.listdir(tmp_path) == []


def test_a_task_in_a_container_that_still_looks_for_its_launcher_can_be_stopped(docker, base):
    """The first process of a container gets no signal that it does not handle."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env = environment(settings(silent.getsockname(), connect_timeout=600))
        variables = [word for item in env.items() for word in ("--env", "=".join(item))]
        words = ("run", "--detach", "--network", "host", *variables, "--entrypoint", "sh", base)
        container = docker(*words, "-c", payload.command("python3")).stdout.strip()
        silent.settimeout(30)
        with silent.accept()[0]:
            docker("stop", "--time", 60, container)
        (found,) = json.loads(docker("inspect", container).stdout)
        docker("rm", container)
    assert found["State"]["ExitCode"] == 143


def test_the_launchers_directory_is_the_tasks_if_it_is_mounted(base, tmp_path):
    mounted = ("-w", 1, "--image", base, "-V", f"{tmp_path}:{tmp_path}")
    assert tfrun(*mounted, "--", "pwd", cwd=tmp_path).stdout == f"[worker:0] {tmp_path}\n"
    elsewhere = tfrun("-w", 1, "--image", base, "--cwd", "/usr/lib", "--", "pwd", cwd=tmp_path)
    assert elsewhere.stdout == "[worker:0] /usr/lib\n"
    nowhere = tfrun("-w", 1, "--image", base, "--cwd", "/no/such", "--", "pwd", cwd=tmp_path)
    assert nowhere.returncode == 1 and nowhere.stdout == ""
    assert "no directory /no/such (its cwd) on its node" in nowhere.stderr


@pytest.mark.parametrize("type, word", [("MESOS", "command"), ("DOCKER", "command")])
def test_the_limit_of_memory_ends_its_task_only_and_the_report_says_why(base, type, word):
    greedy = "import time\nif {task_index}: x = bytearray(2**30)\nprint('other', flush=True)\n"
    done = tfrun(
        *("-w", 2, "-Mw", 64, "-C", type, "--image", base, "--"),
        *("python3", "-c", greedy + "time.sleep(60)"),
    )
    assert done.returncode == 137
    assert "worker:1 ran out of memory and was killed by SIGKILL (signal 9)" in done.stderr
    assert "worker:0 (was killed by SIGTERM" in done.stderr and "hint:" not in done.stderr


@pytest.mark.parametrize("code", [7, 211, 255])
def test_an_exit_code_comes_home_and_nothing_but_the_report(base, code):
    done = tfrun("-w", 1, "--image", base, "--", f"exit {code}")
    assert done.returncode == code
    assert "Traceback" not in done.stderr and "never retrieved" not in done.stderr


@TYPES
def test_what_a_task_with_any_exit_code_held_is_free_again(docker, base, type):
    with standing_mesos("--resources", f"cpus:1;mem:256;{offered_ports()}") as url:
        for _ in range(2):
            once = ("-m", url, "-w", 1, "-Mw", 256, "-C", type, "--image", base)
            assert tfrun(*once, "--start-timeout", 20, "--", "exit 255").returncode == 255


def test_a_runner_in_a_container_is_told_of_no_process_and_no_directory_of_the_host(docker, base):
    """Process ids are others there: it would take a living launcher for dead."""
    with running_tfrun("-w", 1, "--image", base, "--", "echo up; sleep 60") as process:
        read_until(process.stdout, "up")
        (container,) = running(docker)
        (found,) = json.loads(docker("inspect", container).stdout)
        process.send_signal(signal.SIGINT)
        finish(process)
    variables = dict(v.split("=", 1) for v in found["Config"]["Env"])
    assert variables["TFMESOS_RUNNER"].split()[-1] == NOBODY


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_leaves_no_container(docker, base, number, code):
    stubborn = "trap 'echo stopped; exit' TERM; echo up; while :; do sleep 0.1; done"
    with running_tfrun("-w", 2, "--image", base, "--", stubborn) as process:
        read_until(process.stdout, "[worker:0] up", "[worker:1] up")
        assert len(running(docker)) == 2
        process.send_signal(number)
        out, _ = finish(process)
    assert process.returncode == code and out.count("stopped") == 2
    assert not running(docker)


def test_two_interrupts_end_a_run_that_will_not_stop(docker, base):
    stubborn = "trap '' TERM; echo up; while :; do sleep 0.1; done"
    with running_tfrun("-w", 1, "--image", base, "--", stubborn) as process:
        read_until(process.stdout, "up")
        process.send_signal(signal.SIGINT)
        read_until(process.stderr, "")
        process.send_signal(signal.SIGINT)
        finish(process, 10)
    assert process.returncode == 130 and not running(docker)


def test_a_killed_run_leaves_no_container_and_no_directory(docker, base, tmp_path, monkeypatch):
    with running_tfrun("-w", 2, "--image", base, "--", "echo up; exec sleep 600") as process:
        read_until(process.stdout, "[worker:0] up", "[worker:1] up")
        process.kill()
        process.wait()
        wait_until("no container", lambda: not running(docker))
    scratch = Path(os.environ["TMPDIR"])
    wait_until("no directory", lambda: not list(scratch.iterdir()))


def test_a_run_killed_together_with_its_keeper_leaves_no_container(docker, base):
    with running_tfrun("-w", 1, "--image", base, "--", "echo up; exec sleep 600") as process:
        read_until(process.stdout, "up")
        children = psutil.Process(process.pid).children()
        (keeper,) = [child for child in children if "tfmesos-keeper" in child.cmdline()]
        keeper.kill()
        process.kill()
        process.wait()
        wait_until("no container", lambda: not docker("ps", "--all", "--quiet").stdout)
    for scratch in Path(os.environ["TMPDIR"]).iterdir():  # there is nobody left to remove it
        shutil.rmtree(scratch)


def test_a_run_killed_while_its_containers_are_made_leaves_none(docker, base):
    with running_tfrun("-w", 4, "--image", base, "--", "exec sleep 600") as process:
        wait_until("a container", lambda: docker("ps", "--all", "--quiet").stdout)
        process.kill()
        process.wait()
    scratch = Path(os.environ["TMPDIR"])
    wait_until("no directory", lambda: not list(scratch.iterdir()))
    assert docker("ps", "--all", "--quiet").stdout == ""


def test_a_run_interrupted_while_its_containers_are_made_leaves_none(docker, base):
    with running_tfrun("-w", 4, "--image", base, "--", "exec sleep 600") as process:
        wait_until("a container", lambda: docker("ps", "--all", "--quiet").stdout)
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130
    assert docker("ps", "--all", "--quiet").stdout == ""


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


def test_a_standing_mesos_runs_images_for_others(docker, base):
    with standing_mesos() as url:
        done = tfrun("-m", url, "-w", 1, "-C", "docker", "--image", base, "--", "echo hello")
        assert (done.returncode, done.stdout) == (0, "[worker:0] hello\n"), done.stderr
        with running_tfrun(
            "-m", url, "-w", 1, "--image", base, "--", "echo up; exec sleep 60"
        ) as run:
            read_until(run.stdout, "up")
            run.send_signal(signal.SIGINT)
            finish(run)
        wait_until("no container", lambda: not running(docker))


BAD = "127.0.0.1:9/no/such"  # nobody listens there


@pytest.mark.parametrize(
    "flags, code, message",
    [
        (("--image", BAD), 2, f"--image cannot be had: Failed to pull image '{BAD}': "),
        (("--image", "BASE", "-f"), 2, "--image cannot be had: Failed to pull image"),
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
    complaints = [line for line in done.stderr.splitlines() if "pulling" not in line]
    assert (done.returncode, done.stdout, len(complaints)) == (code, "", 1), done.stderr
    assert message in complaints[0]


def test_an_image_is_pulled_when_it_is_missing_and_when_it_is_forced(docker):
    with running_registry() as (image, asked):
        once = ("-w", 1, "--restarts", 0, "--image", image, "--", "true")
        done = tfrun(*once)
        assert f"tfrun: pulling {image}" in done.stderr
        assert done.returncode and 'exec: "/bin/sh"' in done.stderr  # it is there, and hollow
        assert "hint: the node or the image has no such Python" in done.stderr
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
        finish(process, 10)
    assert process.returncode == 130


def test_an_engine_that_never_answers_does_not_hold_an_interrupt_up(tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "deaf.sock"))
        listener.listen()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/deaf.sock")
        with running_tfrun("-w", 1, "--image", "some/image", "--", "true") as process:
            with listener.accept()[0]:
                process.send_signal(signal.SIGINT)
                finish(process, 10)
    assert process.returncode == 130


def test_an_image_without_python_is_named_as_the_fault(docker, base):
    docker("build", "--tag", "snakeless", "-", input=f"FROM {base}\nRUN rm /usr/bin/python3\n")
    done = tfrun("-w", 1, "--image", "snakeless", "--", "true")
    assert done.returncode == 127
    assert "exec: python3: not found" in done.stderr
    assert "hint: the node or the image has no such Python" in done.stderr
    assert "launching it again" not in done.stderr


def test_a_parameter_that_docker_does_not_know_is_told_in_its_words(base, docker):
    with standing_mesos() as url:
        done = tfrun(
            "-m", url, "-w", 1, "-C", "docker", "--user", "x y", "--image", base, "--", "true"
        )
    assert done.returncode == 1 and "unable to find user x y" in done.stderr


@pytest.mark.parametrize(
    "env, reason",
    [
        ({"PATH": "/no/such"}, "there is no docker command on the PATH"),
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
    assert done.returncode == 75 and done.stderr.count("\n") == 1
    assert "the image some/image needs Docker on this machine, or a Mesos master:" in done.stderr
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
    assert "hint: Docker on that node has no GPU support" in done.stderr


@pytest.mark.parametrize(
    "name, meant",
    [
        ("docker-gpus", {"Count": 2, "DeviceIDs": None}),
        ("docker-gpu-by-name", {"Count": 0, "DeviceIDs": ["GPU-a"]}),
        ("docker-gpus-by-name", {"Count": 0, "DeviceIDs": ["GPU-a", "GPU-b"]}),
    ],
)
def test_docker_reads_our_request_for_gpus_as_we_mean_it(docker, base, name, meant):
    info = json.loads((GOLDEN / f"{name}.json").read_text())
    parameters = info["container"]["docker"]["parameters"]
    flags = [f"--{p['key']}={p['value']}" for p in parameters]
    docker("create", "--name", "wants-gpus", "--memory", "64m", *flags, base, "true")
    (found,) = json.loads(docker("inspect", "wants-gpus").stdout)
    docker("rm", "wants-gpus")
    (asked,) = found["HostConfig"]["DeviceRequests"]
    assert {key: asked[key] for key in meant} == meant and asked["Capabilities"] == [["gpu"]]
