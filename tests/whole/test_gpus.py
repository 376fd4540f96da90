"""GPUs of this machine."""

import os

from tests.commands import (
    tfrun,
)


def test_more_gpus_than_this_machine_has_is_said_at_once(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text("#!/bin/sh\necho 'GPU 0: Fake (UUID: GPU-0)'\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = tfrun("-w", 2, "-Gw", 1, "--", "true", env={"PATH": path})
    assert done.returncode == 75
    assert "the tasks ask for 2 gpus, this machine has 1" in done.stderr


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
    assert done.stderr.count("no GPU is visible in this task: its node lacks the NVIDIA") == 2


def test_nvidia_smi_is_not_asked_when_no_gpu_is_wanted(tmp_path):
    nvidia = tmp_path / "nvidia-smi"
    nvidia.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\n")
    nvidia.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert tfrun("-w", 1, "--", "true", env={"PATH": path}).returncode == 0
    assert not (tmp_path / "asked").exists()
