"""The directory of a run on this machine, and what killed launchers have left beside it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from tfmesos.engines.local.scratch_directory import ScratchDirectory, remove_abandoned
from tfmesos.shared import held_directory

NAME = "tfmesos-0123456789abcdef"
HOLDER = (
    "import sys; from tfmesos.shared import held_directory as held; held.hold(sys.argv[1]);"
    " print(flush=True); input()"
)


@contextmanager
def held_by_another(path):
    """Until it is killed."""
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        yield
        holder.kill()


def left_over(place: Path, name: str = NAME) -> Path:
    """As of a launcher that was killed."""
    left = place / name
    (left / "sandboxes" / "S0").mkdir(parents=True)
    (left / "sandboxes" / "S0" / "stdout").write_text("x")
    return left


def test_what_a_killed_launcher_left_is_removed_by_the_next(tmp_path):
    left = left_over(tmp_path)
    with held_by_another(left):
        remove_abandoned(tmp_path)
        assert (left / "sandboxes" / "S0" / "stdout").exists()
    remove_abandoned(tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("name", ["tfmesos-", "tfmesos-mine", f"{NAME}.bak", f"x{NAME}", "other"])
def test_only_what_has_our_kind_of_name_is_removed(tmp_path, name):
    left = left_over(tmp_path, name)
    remove_abandoned(tmp_path)
    assert left.exists()


def test_a_link_is_neither_followed_nor_removed(tmp_path):
    """Nor is one inside of what is removed."""
    treasure = tmp_path / "treasure"
    treasure.mkdir()
    (treasure / "file").touch()
    (tmp_path / NAME).symlink_to(treasure)
    left = left_over(tmp_path, NAME.replace("0", "f"))
    (left / "link").symlink_to(treasure)
    remove_abandoned(tmp_path)
    assert (treasure / "file").exists() and (tmp_path / NAME).is_symlink()
    assert not left.exists()


def test_a_file_with_our_kind_of_name_is_left_alone(tmp_path):
    (tmp_path / NAME).touch()
    remove_abandoned(tmp_path)
    assert (tmp_path / NAME).exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_what_belongs_to_another_user_is_left_alone(tmp_path):
    left = left_over(tmp_path)
    os.chown(left, 65534, 65534)
    remove_abandoned(tmp_path)
    assert (left / "sandboxes" / "S0" / "stdout").exists()


def test_a_place_that_cannot_be_read_is_no_reason_to_fail(tmp_path):
    remove_abandoned(tmp_path / "nowhere")


def test_a_directory_that_is_taken_for_abandoned_before_it_is_held_is_made_again(monkeypatch):
    hold, seen = held_directory.hold, []

    def late(path):
        if not seen:
            held_directory.remove_unless_held(path)
        seen.append(path)
        return hold(path)

    monkeypatch.setattr(held_directory, "hold", late)
    directory = ScratchDirectory()
    directory.make()
    assert len(seen) == 2
    remove_abandoned(directory.path.parent)
    assert directory.path.exists()
    directory.close()
    assert not directory.path.exists()


def test_the_last_to_hold_it_removes_it(tmp_path):
    left = left_over(tmp_path)
    ours, theirs = held_directory.hold(str(left)), held_directory.hold(str(left))
    held_directory.remove_unless_held(str(left), ours)
    assert left.exists()
    held_directory.remove_unless_held(str(left), theirs)
    assert not left.exists()
    assert held_directory.hold(str(left)) is None
