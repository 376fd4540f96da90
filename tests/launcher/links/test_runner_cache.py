"""The packed runner that is kept for the next launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from tests.bounds import HANG
from tfmesos.launcher.links import runner_cache

OURS = MAGIC_NUMBER.hex()
PACKED = {"program": "import it", "runners": {OURS: bytes(100_000), "": b"source"}}


def test_what_was_packed_is_kept_for_the_same_files_only(tmp_path):
    file = runner_cache.file(str(tmp_path / "caches"))
    assert runner_cache.read(file, "state") is None
    runner_cache.write(file, "state", PACKED)
    assert runner_cache.read(file, "state") == PACKED
    assert runner_cache.read(file, "another state") is None
    (kept,) = tmp_path.rglob("runner-*")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("caches", ["", "relative"])
def test_without_a_directory_for_caches_it_is_kept_in_the_home_directory(caches):
    assert runner_cache.file(caches) == os.path.expanduser(f"~/.cache/tfmesos/runner-{OURS}")


def test_who_has_no_home_directory_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", "relative")
    monkeypatch.chdir(tmp_path)
    runner_cache.write(runner_cache.file(""), "state", PACKED)
    assert runner_cache.read(runner_cache.file(""), "state") is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("change", ["touched", "longer", "new", "new below", "gone"])
def test_every_change_of_what_is_packed_is_another_state(tmp_path, change):
    for name in (
        *("node/stub.py", "node/link/callers.py", "shared/wire.py"),
        *("errors.py", "launcher/links/payload_builder.py"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    before = runner_cache.state(str(tmp_path), "1.0")
    assert runner_cache.state(str(tmp_path), "1.0") == before
    if change == "touched":
        os.utime(tmp_path / "errors.py", (1, 1))
    elif change == "longer":
        (tmp_path / "launcher/links/payload_builder.py").write_text("# more")
    elif change == "new":
        (tmp_path / "node/more.py").touch()
    elif change == "new below":
        (tmp_path / "node/link/more.py").touch()
    else:
        (tmp_path / "shared/wire.py").unlink()
    assert runner_cache.state(str(tmp_path), "1.0") != before


def test_another_version_or_optimization_is_another_state(tmp_path):
    package = str(Path(runner_cache.__file__).parents[2])
    before = runner_cache.state(package, "1.0")
    assert before and runner_cache.state(package, "1.1") != before
    code = f"from {runner_cache.__name__} import state; print(state({package!r}, '1.0'))"
    run = [sys.executable, "-O", "-c", code]
    told = subprocess.run(run, capture_output=True, text=True, check=True, timeout=HANG).stdout
    assert len(told.strip()) == len(before) and told.strip() != before


def test_a_package_may_lie_in_a_directory_whose_name_is_not_utf_8(tmp_path):
    package = os.fsdecode(os.fsencode(tmp_path) + b"/p\xff")
    (Path(package) / "node").mkdir(parents=True)
    (Path(package) / "shared").mkdir()
    (Path(package) / "launcher/links").mkdir(parents=True)
    for name in ("errors.py", "launcher/links/payload_builder.py"):
        (Path(package) / name).touch()
    assert runner_cache.state(package, "1.0")


@pytest.mark.parametrize("size", [0, 1, 100, -1])
def test_a_file_that_was_cut_off_is_not_used(tmp_path, size):
    file = runner_cache.file(str(tmp_path))
    runner_cache.write(file, "state", PACKED)
    os.truncate(file, size % os.path.getsize(file))
    assert runner_cache.read(file, "state") is None


def test_a_file_of_somebody_else_is_not_used(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    file = runner_cache.file(str(tmp_path))
    runner_cache.write(file, "state", PACKED)
    os.chown(file, 12345, 12345)
    assert runner_cache.read(file, "state") is None


@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_can_write_is_not_used(tmp_path, mode):
    file = runner_cache.file(str(tmp_path))
    runner_cache.write(file, "state", PACKED)
    os.chmod(file, mode)
    assert runner_cache.read(file, "state") is None


@pytest.mark.parametrize("at", [0, 31, 32, 5000, -1])
def test_a_file_in_which_a_byte_changed_is_not_used(tmp_path, at):
    file = runner_cache.file(str(tmp_path))
    runner_cache.write(file, "state", PACKED)
    content = bytearray(Path(file).read_bytes())
    content[at] ^= 1
    Path(file).write_bytes(content)
    assert runner_cache.read(file, "state") is None


def test_what_is_no_file_is_not_waited_for(tmp_path):
    file = runner_cache.file(str(tmp_path))
    os.mkdir(os.path.dirname(file))
    os.mkfifo(file)
    assert runner_cache.read(file, "state") is None


def test_no_link_is_followed(tmp_path):
    file = runner_cache.file(str(tmp_path))
    runner_cache.write(file, "state", PACKED)
    os.rename(file, f"{file}.other")
    os.symlink(f"{file}.other", file)
    assert runner_cache.read(file, "state") is None
    os.symlink(victim := f"{file}.victim", f"{file}.{os.getpid()}")
    runner_cache.write(file, "state", PACKED)
    assert not os.path.exists(victim)


def test_what_cannot_be_put_in_its_place_is_removed(tmp_path):
    file = runner_cache.file(str(tmp_path))
    os.makedirs(file)
    runner_cache.write(file, "state", PACKED)
    assert os.listdir(os.path.dirname(file)) == [os.path.basename(file)]


def test_where_nothing_can_be_kept_a_run_does_without(tmp_path):
    runner_cache.write(runner_cache.file("/proc/nothing"), "state", PACKED)
    (tmp_path / "tfmesos").touch()
    runner_cache.write(runner_cache.file(str(tmp_path)), "state", PACKED)
    assert [path.name for path in tmp_path.iterdir()] == ["tfmesos"]
