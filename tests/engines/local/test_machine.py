"""What this machine has."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile

import pytest

from tfmesos.engines.local import machine
from tfmesos.engines.local.machine import amounts, gpu_ids


def test_this_machine_has_processors_memory_and_disk():
    has = amounts()
    assert list(has) == ["cpus", "mem", "disk"] and has["cpus"] >= 1 and has["mem"] > 100


def test_memory_and_disk_are_in_mib(monkeypatch):
    sizes = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 640}
    monkeypatch.setattr(os, "sysconf", sizes.__getitem__)
    assert machine.installed_memory() == 2.5
    asked = []
    found = shutil.disk_usage("/")._replace(free=5 * 2**20 + 7)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: asked.append(path) or found)
    assert (machine.free_disk(), asked) == (5.0, [tempfile.gettempdir()])


def test_only_processors_that_this_process_may_use_are_counted(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {1, 3, 5} if pid == 0 else set())
    assert machine.cpu_count() == 3
    monkeypatch.delattr(os, "sched_getaffinity")  # as on other systems
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert machine.cpu_count() == 1


def nvidia_smi(place, monkeypatch, *lines):
    (place / "nvidia-smi").write_text("\n".join(["#!/bin/sh", *lines, ""]))
    (place / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", str(place))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_nvidia_smi_is_asked_for_a_list(tmp_path, monkeypatch):
    nvidia_smi(tmp_path, monkeypatch, '[ "$*" = -L ] && echo "GPU 0: X (UUID: GPU-a)"')
    assert gpu_ids() == ("GPU-a",)


def test_an_nvidia_smi_that_fails_or_is_missing_means_no_gpus(tmp_path, monkeypatch):
    nvidia_smi(tmp_path, monkeypatch, "echo 'GPU 0: X (UUID: GPU-a)'", "exit 9")
    assert gpu_ids() == ()
    (tmp_path / "nvidia-smi").unlink()
    assert gpu_ids() == ()


def test_an_nvidia_smi_that_hangs_is_not_waited_for_ever(tmp_path, monkeypatch):
    nvidia_smi(tmp_path, monkeypatch, "true")
    limits = []

    def late(*words, timeout=None, **options):
        limits.append(timeout)
        raise subprocess.TimeoutExpired("nvidia-smi", timeout)

    monkeypatch.setattr(subprocess, "run", late)
    assert gpu_ids() == () and 1 < limits[0] <= 60


@pytest.mark.parametrize(("there", "offered"), [(8192, 7168), (2048, 1024), (1000, 500)])
def test_a_small_machine_offers_half_of_its_memory(there, offered, monkeypatch):
    monkeypatch.setattr(machine, "installed_memory", lambda: float(there))
    assert machine.memory() == offered


@pytest.mark.parametrize(
    "chosen, visible",
    [
        (None, ("GPU-aa", "GPU-ab", "MIG-c")),
        ("", ()),
        ("1", ("GPU-ab",)),
        ("2,0", ("MIG-c", "GPU-aa")),
        ("GPU-ab,MIG", ("GPU-ab", "MIG-c")),
        ("0,-1,1", ("GPU-aa",)),
        ("GPU-a", ()),
        ("3", ()),
        (" 1 , 0 ", ("GPU-ab", "GPU-aa")),
        ("0,,1", ("GPU-aa",)),
    ],
)
def test_gpus_that_cuda_is_kept_from_are_not_seen(tmp_path, monkeypatch, chosen, visible):
    lines = [f"GPU {i}: X (UUID: {name})" for i, name in enumerate(("GPU-aa", "GPU-ab", "MIG-c"))]
    nvidia_smi(tmp_path, monkeypatch, *(f"echo '{line}'" for line in lines))
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert gpu_ids() == visible
