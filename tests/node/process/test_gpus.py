"""What nvidia-smi tells of the GPUs of a task.

There is no GPU here. The nvidia-smi of these tests is a program that writes what the documentation
of the genuine one says: ``--format=csv,noheader,nounits``, a line for each GPU.
"""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.runners import gone, launcher, runner, settings
from tfmesos.launcher.links.usage import Gpu
from tfmesos.node.loop import Loop
from tfmesos.node.process import gpus
from tfmesos.node.process.gpus import is_visible, parse
from tfmesos.node.process.guard import Guard

MIB = 1024 * 1024
A, B = "GPU-5a1c2d3e-0000-0000-0000-000000000001", "GPU-99ab2d3e-0000-0000-0000-000000000002"


def test_a_line_of_nvidia_smi_is_read():
    assert parse(f"1, {A}, 93, 10240, 16384") == (("1", A), (93, 10240 * MIB, 16384 * MIB))


@pytest.mark.parametrize(
    "unknown", ["[N/A]", "[Not Supported]", "[Unknown Error]", "", "\u00b2", "9" * 5000]
)
def test_what_the_driver_does_not_know_is_none(unknown):
    assert parse(f"0, {A}, {unknown}, {unknown}, 16384") == (("0", A), (None, None, 16384 * MIB))


@pytest.mark.parametrize(
    "line",
    [
        "",
        "\u00b2, b, 1, 2, 3",
        "No devices were found",
        "a, b, c, d, e",
        "NVIDIA-SMI has failed because it couldn't",
    ],
)
def test_other_lines_of_nvidia_smi_are_passed_over(line):
    assert parse(line) is None


@pytest.mark.parametrize(
    ("visible", "is_seen"),
    [
        (None, True),
        ("1", True),
        ("0, 1", True),
        ("0", False),
        ("10", False),
        ("", False),
        ("-1", False),
        (A, True),
        ("GPU-5a1c", True),
        (B, False),
        ("GPU-", False),
    ],
)
def test_only_gpus_that_the_task_sees_are_told_of(visible, is_seen):
    assert is_visible(("1", A), visible) is is_seen


def program(path, lines, then="exec sleep 600"):
    """An nvidia-smi that notes its arguments and pid, and writes *lines*."""
    smi = path / "nvidia-smi"
    wanted = "".join(f"echo '{line}'\n" for line in lines)
    smi.write_text(f'#!/bin/sh\necho "$@" > {path}/args\necho $$ > {path}/pid\n{wanted}{then}\n')
    smi.chmod(0o755)
    return {"PATH": f"{path}:{os.environ['PATH']}"}


def measured(tmp_path, extra, env, enough=lambda usages: usages[-1].gpus):
    """The last usage of those with which *enough* is content, of a command with *env*."""
    sandbox = tmp_path / "sandbox"
    sandbox.mkdir()

    async def main():
        async with launcher() as ours:
            with runner(sandbox, settings(ours.address, heartbeat=0.05), **extra) as theirs:
                ours.start([sys.executable, "-c", "import time; time.sleep(600)"], env=env)
                await ours.until(lambda: ours.usages and enough(ours.usages))
                found = ours.usages[-1]  # later ones may be of what has been killed
                ours.send(type="stop", grace=0, reason="", examine=False)
                await theirs.exited()
                return found

    return asyncio.run(main())


def five(usages):
    return len(usages) >= 5


def test_a_task_with_a_gpu_tells_how_busy_it_is_and_leaves_no_nvidia_smi_behind(tmp_path):
    extra = program(tmp_path, [f"0, {A}, 7, 512, 16384", f"1, {B}, 93, 10240, 16384"])
    usage = measured(tmp_path, extra, {"CUDA_VISIBLE_DEVICES": "1"})
    assert usage.gpus == (Gpu(93, 10240 * MIB, 16384 * MIB),)
    assert (tmp_path / "args").read_text().split() == [
        "--query-gpu=index,uuid,utilization.gpu,memory.used,memory.total",
        "--format=csv,noheader,nounits",
        "--loop=5",
    ]
    assert gone(int((tmp_path / "pid").read_text()))


def test_an_nvidia_smi_that_fails_tells_nothing_and_costs_nothing(tmp_path):
    failed = "NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver."
    extra = program(tmp_path, [failed], then="exit 9")
    usage = measured(tmp_path, extra, {}, five)
    assert usage.gpus == ()


def test_an_nvidia_smi_that_hangs_is_not_believed_for_ever(monkeypatch):
    with Loop() as loop:
        guard = Guard("no-task")
        monkeypatch.setattr(gpus, "COMMAND", ["echo", f"0, {A}, 7, 512, 16384"])
        watched = gpus.Gpus(loop, None, guard)
        loop.run_until(watched.take)
        assert watched.take() == watched.take() == [(7, 512 * MIB, 16384 * MIB)]
        watched._told_at -= gpus.FORGOTTEN_AFTER + 1
        assert watched.take() == []
        watched.close()
        guard.close()


def test_a_task_without_gpus_starts_no_nvidia_smi(tmp_path):
    extra = program(tmp_path, [f"0, {A}, 7, 512, 16384"])
    usage = measured(tmp_path, extra, {"CUDA_VISIBLE_DEVICES": ""}, five)
    assert usage.gpus == () and not (tmp_path / "args").exists()


def test_without_nvidia_smi_there_are_no_gpus(tmp_path):
    usage = measured(tmp_path, {}, {}, five)
    assert usage.gpus == () and usage.memory > 0
