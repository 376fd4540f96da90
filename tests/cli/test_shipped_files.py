"""``--ship --dry-run`` lists what would be sent."""

from __future__ import annotations

import pytest

from tfmesos.cli.arguments import parse
from tfmesos.cli.dry_run import shown
from tfmesos.cli.flag_inputs import inputs_of
from tfmesos.errors import SpecError


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "train.py").write_bytes(b"x" * 100)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "digits.bin").write_bytes(bytes(3 * 1024))
    (tmp_path / "data" / "latest").symlink_to("digits.bin")
    (tmp_path / "left-out.log").touch()
    (tmp_path / ".tfignore").write_text("*.log\n.tfignore\n")
    return tmp_path


def words(*flags):
    config = inputs_of(parse([*flags, "-w", "1", "--", "true"])).config()
    text = shown("words", config, {"jobs": {}})
    return [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ")]


def test_the_files_are_listed_with_their_sizes_and_no_others(directory):
    lines = words(f"--ship={directory}")
    at = lines.index("ships 2 files, 3.1 KB before packing to each task")
    assert [line.split() for line in lines[at + 1 :]] == [
        ["3", "KB", "data/digits.bin"],
        ["100", "bytes", "train.py"],
        ["link", "data/latest", "->", "digits.bin"],
    ]


def test_single_files_and_addresses_are_listed_and_nothing_is_fetched(directory, tmp_path):
    url = "http://nobody.invalid/code.zip"
    lines = words(f"--ship={url}", "--ship-file", f"{directory / 'train.py'}:conf/x.py")
    assert "    the contents of http://nobody.invalid/code.zip" in lines
    assert [line.split() for line in lines][-1] == ["100", "bytes", "conf/x.py"]


def test_without_ship_nothing_is_listed(directory):
    assert not any("ships" in line for line in words())


def test_what_cannot_be_sent_is_refused_as_in_a_run(directory):
    (directory / "out").symlink_to("/etc/passwd")
    with pytest.raises(SpecError, match="points outside it"):
        words(f"--ship={directory}")
