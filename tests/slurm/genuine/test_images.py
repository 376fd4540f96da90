"""Tasks in images on a genuine Slurm, which a genuine Apptainer runs if there is one."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun

from .test_restarts import the_run
from .test_runs import ON_SLURM, SMALL, tagged
from .test_takeover import kill, the_lost_run

needs_apptainer = pytest.mark.skipif(
    shutil.which("apptainer") is None, reason="no apptainer on the PATH: Debian 12 has none"
)


@pytest.fixture
def image(tmp_path):
    """A directory that Apptainer takes for an image; its programs are those of this machine."""
    place = tmp_path / "image"
    for name in ("dev", "etc", "home", "proc", "root", "sys", "tmp", "usr", "var/tmp"):
        (place / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (place / name).symlink_to(f"usr/{name}")
    for name in ("group", "hosts", "localtime", "passwd", "resolv.conf"):
        (place / "etc" / name).touch()
    (place / "in-image").touch()
    return place


def in_image(image, *words):
    return (*ON_SLURM, *SMALL, f"--image={image}", "-V", "/usr:/usr:ro", *words)


@needs_apptainer
def test_tasks_run_in_their_image_with_volumes_files_and_gpus(slurm, image, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/set").write_text("numbers\n")
    (tmp_path / "program").mkdir()
    (tmp_path / "program/train.sh").write_text(
        "ls -d /in-image; cat /mnt/set; touch /mnt/other 2>/dev/null || echo read-only\n"
        "echo gpu $CUDA_VISIBLE_DEVICES; echo config $TF_CONFIG"
    )
    words = ("-w", 2, "-Gw", 1, "-V", f"{tmp_path}/data:/mnt:ro", f"--ship={tmp_path}/program")
    done = tfrun(*in_image(image, *words), "--", "sh", "train.sh")
    assert done.returncode == 0, done.stderr
    for said in ("/in-image", "numbers", "read-only"):
        assert done.stdout.count(f"] {said}\n") == 2, done.stdout
    assert len({*tagged(done.stdout, "gpu").values()}) == 2
    configs = [json.loads(config) for config in tagged(done.stdout, "config").values()]
    assert [len(config["cluster"]["worker"]) for config in configs] == [2, 2]


@needs_apptainer
def test_a_task_in_an_image_is_started_again_there_and_entered(slurm, image):
    words = in_image(image, "-w", 1, "--", "echo up; exec sleep 600")
    with running_tfrun(*words) as run:
        read_until(run.stdout, "[worker:0] up")
        assert tfrun("restart", the_run(), "worker:0").returncode == 0
        read_until(run.stdout, "[worker:0] up")
        entered = tfrun("exec", the_run(), "worker:0", "--", "ls", "-d", "/in-image")
        assert entered.stdout == "/in-image\n", entered.stderr
        run.terminate()
        assert run.wait() == 143


@needs_apptainer
def test_an_image_that_is_not_there_is_reported_in_the_words_of_apptainer(slurm):
    done = tfrun(*in_image("/no/such.sif", "-w", 1), "--", "true")
    assert done.returncode == 255, done.stderr
    assert "could not open image /no/such.sif" in done.stderr.splitlines()[-1]


def test_without_pyxis_and_apptainer_the_way_out_is_named(slurm, monkeypatch):
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    done = tfrun(*ON_SLURM, "--image", "python:3.11", "-w", 1, "--", "true")
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert all(word in done.stderr for word in ("pyxis", "apptainer exec", "--image")), done.stderr


@needs_apptainer
def test_another_launcher_starts_a_task_in_the_image_that_an_update_gave_it(
    slurm, image, recorded_runs
):
    script = "ls -d /in-image 2>/dev/null || echo no image; exec sleep 600"
    words = (*ON_SLURM, *SMALL, "-V", "/usr:/usr:ro", "-w", 1, "--", "sh", "-c", script)
    with running_tfrun(*words) as first:
        read_until(first.stdout, "[worker:0] no image")
        assert tfrun("update", the_run(), f"--image={image}").returncode == 0
        read_until(first.stdout, "[worker:0] /in-image")
        kill(first)
    with running_tfrun("adopt", the_lost_run()) as second:
        read_until(second.stderr, "attached to")
        assert tfrun("restart", the_run(), "worker:0").returncode == 0
        read_until(second.stdout, "[worker:0] /in-image")
        assert tfrun("stop", the_run()).returncode == 0
        finish(second)
