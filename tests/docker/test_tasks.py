"""tfrun on this machine with --image: every task in a container."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess

import pytest

from tests.bounds import HANG
from tests.commands import finish, read_until, running_tfrun, standing_mesos, tfrun
from tests.mesos.genuine.cluster import wait_until
from tests.packs import packed, write
from tests.ports import offered_ports
from tests.runners import environment, launcher, settings
from tfmesos.launcher.links import payload
from tfmesos.shared.handshake import NOBODY

from .containers import TYPES, existing


def words(done):
    return sorted(done.stdout.splitlines())


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
        (container,) = existing(docker)
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
        (container,) = existing(docker)
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


@pytest.mark.parametrize("mode", [0o755, 0o700])
def test_an_images_user_who_may_not_write_to_the_sandbox_has_a_directory_all_the_same(
    docker, base, tmp_path, mode
):
    """The Docker containerizer gives the sandbox to root; mode 0700 may not even be entered."""
    (tmp_path / "sandbox").mkdir(mode)
    pack = packed(write(tmp_path / "source", train_py="print('trained')"))

    async def main():
        async with launcher(packs={"ship": pack}) as ours:
            told = settings(ours.address, packs={"ship": pack.describe()})
            env = environment(told, MESOS_SANDBOX="/mnt/mesos/sandbox")
            where = ("--network", "host", "-v", f"{tmp_path}/sandbox:/mnt/mesos/sandbox")
            variables = [word for item in env.items() for word in ("--env", "=".join(item))]
            words = ("run", "--rm", "--user", "nobody", *where, *variables, "--entrypoint", "sh")
            ours.start("id -un; pwd; python3 train.py; touch here && echo written", in_image=True)
            return ours, await asyncio.to_thread(
                docker, *words, base, "-c", payload.command("python3")
            )

    ours, _ = asyncio.run(main())
    who, where, *rest = ours.lines()
    assert (who, rest) == ("nobody", ["trained", "written"])
    assert re.fullmatch("/tmp/tfmesos-task-[0-9a-f]+/ship", where)
    assert os.listdir(tmp_path / "sandbox") == []


def test_a_task_in_a_container_that_still_looks_for_its_launcher_can_be_stopped(docker, base):
    """The first process of a container gets no signal that it does not handle."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        env = environment(settings(silent.getsockname(), connect_timeout=600))
        variables = [word for item in env.items() for word in ("--env", "=".join(item))]
        words = ("run", "--detach", "--network", "host", *variables, "--entrypoint", "sh", base)
        container = docker(*words, "-c", payload.command("python3")).stdout.strip()
        silent.settimeout(HANG)
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
    assert "/no/such does not exist on " in nowhere.stderr


@pytest.mark.parametrize("type, word", [("MESOS", "command"), ("DOCKER", "command")])
def test_the_limit_of_memory_ends_its_task_only_and_the_report_says_why(base, type, word):
    greedy = "import time\nif {task_index}: x = bytearray(2**30)\nprint('other', flush=True)\n"
    done = tfrun(
        *("-w", 2, "-Mw", 64, "-C", type, "--image", base, "--"),
        *("python3", "-c", greedy + "time.sleep(60)"),
    )
    assert done.returncode == 137
    assert "worker:1 ran out of memory and was killed by SIGKILL (signal 9)" in done.stderr
    assert "worker:0 (" not in done.stderr and "hint:" not in done.stderr


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
            assert tfrun(*once, "--start-timeout", HANG, "--", "exit 255").returncode == 255


def test_a_runner_in_a_container_is_told_of_no_process_and_no_directory_of_the_host(docker, base):
    """Process ids are others there: it would take a living launcher for dead."""
    with running_tfrun("-w", 1, "--image", base, "--", "echo up; sleep 60") as process:
        read_until(process.stdout, "up")
        (container,) = existing(docker)
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
        assert len(existing(docker)) == 2
        process.send_signal(number)
        out, _ = finish(process)
    assert process.returncode == code and out.count("stopped") == 2
    assert not existing(docker)


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
        wait_until("no container", lambda: not existing(docker))


@TYPES
def test_secrets_come_into_a_container_and_stay_out_of_what_docker_tells(
    docker, base, tmp_path, type
):
    token = tmp_path / "token"
    token.write_text("hush-59f0c4d1e7")
    token.chmod(0o600)
    show = (
        'echo "$KEY $(stat -c %a $TFMESOS_SECRETS_DIR/token) $TFMESOS_SECRETS_DIR"; '
        "cat $TFMESOS_SECRETS_DIR/token; echo; exec sleep 60"
    )
    flags = ("--secret", f"token={token}", "--secret-env", f"KEY={token}", "--link-tls")
    with running_tfrun(*flags, "-w", 1, "-C", type, "--image", base, "--", show) as process:
        shown = read_until(process.stdout, "] hush-")
        (container,) = existing(docker)
        told = docker("inspect", container).stdout
        process.send_signal(signal.SIGINT)
        finish(process)
    assert process.returncode == 130
    word, mode, place = shown[0].removeprefix("[worker:0] ").split()
    assert (word, mode) == ("hush-59f0c4d1e7", "600") and place.startswith("/dev/shm/")
    assert container in told and "hush-59f0c4d1e7" not in told
