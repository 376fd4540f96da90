"""What is removed of directories, and at what cost."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tfmesos.shared.held_directory import remove

ROOT = Path(__file__).parents[2]


def test_whatever_is_there_is_removed_and_links_are_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").touch()
    (tmp_path / "full" / "below").mkdir(parents=True)
    (tmp_path / "full" / "below" / "file").touch()
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(kept)
    for name in ("full", "empty", "file", "link", "missing"):
        remove(str(tmp_path / name))
    assert os.listdir(tmp_path) == ["kept"] and os.listdir(kept) == ["file"]


def test_an_empty_directory_goes_without_the_import_of_shutil(tmp_path):
    """Each task removes its own at its end."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from tfmesos.shared.held_directory import Private\n"
        "Private(sys.argv[2], 'task-').remove()\n"
        "print('shutil' in sys.modules)"
    )
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        code,
        str(ROOT),
        str(tmp_path),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert (done.stdout, os.listdir(tmp_path)) == ("False\n", [])
