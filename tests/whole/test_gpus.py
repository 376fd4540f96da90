"""GPUs of this machine."""

import os
import signal
import uuid

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun


def test_more_gpus_than_this_machine_has_is_said_at_once(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\necho 'GPU 0: Fake (UUID: GPU-0)'\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = tfrun("-w", 2, "-Gw", 1, "--", "true", env={"PATH": path})
    assert done.returncode == 75
    assert "ask for 2 GPUs, but this machine has 1" in done.stderr


def test_each_task_sees_its_own_gpus_and_a_ps_none(tmp_path):
    """No driver is here, and that is said, too."""
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\nfor i in 0 1 2; do echo GPU $i: Fake '(UUID: GPU-'$i')'; done\n")
    nvidia.chmod(0o755)
    env = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CUDA_VISIBLE_DEVICES": "1,2"}
    show = ["sh", "-c", "echo sees ${CUDA_VISIBLE_DEVICES:-none}"]
    done = tfrun("-w", 2, "-Gw", 1, "-s", 1, "--", *show, env=env)
    assert done.returncode == 0
    assert "[ps:0] sees none" in done.stdout.splitlines()
    seen = sorted(line.split()[2] for line in done.stdout.splitlines() if "worker" in line)
    assert seen == ["GPU-1", "GPU-2"]
    assert done.stderr.count("no GPU is visible") == 2


def test_nvidia_smi_is_not_asked_when_no_gpu_is_wanted(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert tfrun("-w", 1, "--", "true", env={"PATH": path}).returncode == 0
    assert not (tmp_path / "asked").exists()


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    """This machine has two, of names that no other test uses."""
    names = [f"GPU-{uuid.uuid4()}" for _ in range(2)]
    nvidia = tmp_path / "nvidia-smi"
    lines = [f"echo 'GPU {i}: Fake (UUID: {name})'\n" for i, name in enumerate(names)]
    nvidia.write_text("#!/bin/sh\n" + "".join(lines))
    nvidia.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return names


SEEN = "echo sees $CUDA_VISIBLE_DEVICES; exec sleep 600"


def test_two_runs_at_once_have_different_gpus(two_gpus):
    one = ("-w", 1, "-Gw", 1, "--", SEEN)
    with running_tfrun(*one) as first, running_tfrun(*one) as second:
        seen = [read_until(run.stdout, "sees ")[-1].split()[-1] for run in (first, second)]
        for run in (first, second):
            run.send_signal(signal.SIGINT)
            finish(run)
    assert sorted(seen) == sorted(two_gpus)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_a_run_waits_for_gpus_says_who_has_them_and_goes_on_when_they_are_free(two_gpus, end):
    with running_tfrun("-w", 1, "-Gw", 1, "--", SEEN) as first:
        read_until(first.stdout, "sees ")
        with running_tfrun("-w", 2, "-Gw", 1, "--", "echo $CUDA_VISIBLE_DEVICES") as second:
            said = read_until(second.stderr, "held by")[-1]
            first.send_signal(end)
            finish(first)
            out, err = finish(second)
    assert f"process {first.pid} of " in said and two_gpus[0] in said, said
    assert "0 of 2 tasks placed" in said and "need 2 GPUs, 1 of this machine" in said
    assert second.returncode == 0, err
    assert sorted(line.split()[-1] for line in out.splitlines()) == sorted(two_gpus)
