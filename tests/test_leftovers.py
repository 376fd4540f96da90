"""Everything that can outlive its process is in one table, with who removes it."""

import os
import re

import pytest

from tests.test_layers import PACKAGE
from tfmesos.leftovers import LEFTOVERS
from tfmesos.shared.held_directory import Private, hold, sweep

# What goes with its process, or is removed within the same lines.
SHORT_LIVED = {
    "engines/certificate",
    "engines/kubernetes/api/credentials",
    "runs/detaching",
    "node/process/guard",
}
OUTLIVES = re.compile(
    r"TemporaryDirectory\(|NamedTemporaryFile\(|mkdtemp\(|mkstemp\(|\bPrivate\("
    r"|start_new_session=True|os\.fork\("
)


def makers():
    texts = {path: path.read_text() for path in PACKAGE.rglob("*.py")}
    found = {path for path, text in texts.items() if OUTLIVES.search(text)}
    return {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in found}


def test_whoever_makes_what_can_outlive_its_process_is_in_the_table():
    known = {module for row in LEFTOVERS for module in row.made_by}
    assert makers() - known - SHORT_LIVED == set()


@pytest.mark.parametrize("row", LEFTOVERS, ids=lambda row: row.what)
def test_a_row_names_modules_that_exist(row):
    for module in (*row.made_by, *row.removed_by):
        assert (PACKAGE / f"{module}.py").is_file(), module


def test_a_private_directory_goes_with_its_block(tmp_path):
    with Private(str(tmp_path), "tfmesos-ship-") as path:
        assert (tmp_path / path).is_dir()
    assert list(tmp_path.iterdir()) == []


def test_the_next_private_directory_removes_what_a_killed_process_left(tmp_path):
    left, held, foreign = (tmp_path / name for name in ("tfmesos-ship-1", "tfmesos-ship-2", "x"))
    for directory in (left, held, foreign):
        directory.mkdir()
    lock = hold(str(held))
    with Private(str(tmp_path), "tfmesos-ship-") as path:
        assert {str(one) for one in tmp_path.iterdir()} == {str(held), str(foreign), path}
    os.close(lock)
    sweep(str(tmp_path), lambda name: name.startswith("tfmesos-ship-"))
    assert list(tmp_path.iterdir()) == [foreign]
