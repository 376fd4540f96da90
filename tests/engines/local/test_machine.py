"""What this machine has."""

from __future__ import annotations

import pytest

from tfmesos.engines.local import machine
from tfmesos.engines.local.machine import amounts, gpu_ids


def test_this_machine_has_processors_memory_and_disk():
    has = amounts()
    assert list(has) == ["cpus", "mem", "disk"] and has["cpus"] >= 1 and has["mem"] > 100


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
    ],
)
def test_gpus_that_cuda_is_kept_from_are_not_seen(tmp_path, monkeypatch, chosen, visible):
    fake = tmp_path / "nvidia-smi"
    lines = [f"GPU {i}: X (UUID: {name})" for i, name in enumerate(("GPU-aa", "GPU-ab", "MIG-c"))]
    fake.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in lines))
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    if chosen is None:
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    else:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert gpu_ids() == visible
