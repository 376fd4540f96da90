"""What is left out of a directory is what git would leave out of a repository."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.packs import tree_of, write
from tfmesos.errors import CannotRead
from tfmesos.launcher.ship.ignore import LARGEST, Pattern, Rules

HAS_GIT = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")


def shipped(directory: Path) -> set[str]:
    return set(tree_of(directory).files)


def known_to_git(directory: Path) -> set[str]:
    """All that is not ignored, in the directory of the repository it is in."""
    listed = ["git", "-C", str(directory), "ls-files", "-z", "-o", "--exclude-per-directory"]
    done = subprocess.run([*listed, ".gitignore"], capture_output=True, check=True)
    return {os.fsdecode(name) for name in done.stdout.split(b"\0") if name}


def repository(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", str(directory)], check=True, capture_output=True)
    return directory


PATTERNS = [
    *("*.log", "build/", "/top", "a/b", "a/**/d", "**/deep", "dir/**", "!keep.log", "?.txt"),
    *("[ab].c", "[!a].h", "[^a].h", "# comment", r"\#name", r"\!name", "trailing  ", r"space\ "),
    *(
        "*",
        "!*/",
        "!*.py",
        "a*",
        "**",
        "x/*/y",
        "/*",
        "!/a",
        "[a-c]",
        "[]a]",
        "a[",
        "z\\",
        "/",
        "!",
    ),
    *("a/", "/a/*", "!/a/b", "foo/**/bar/**", "**/a/**", "*.p?", "[[]", r"[\]]", "a**b", "***"),
]
NAMES = ["a", "b", "c.py", "d.log", "keep.log", "x", "a.txt", "b.h", "#name", "!name", "space "]


@HAS_GIT
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    top=st.lists(st.sampled_from(PATTERNS), max_size=5),
    below=st.lists(st.sampled_from(PATTERNS), max_size=3),
    paths=st.sets(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4).map(tuple), max_size=25),
)
def test_git_leaves_out_the_same(tmp_path_factory, top, below, paths):
    root = repository(tmp_path_factory.mktemp("repository"))
    for path in [*paths, ("a", "b", "c.py")]:
        place = root.joinpath(*path)
        if not any(parent.is_file() for parent in place.parents) and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("")
    (root / ".gitignore").write_text("\n".join(top))
    if (root / "a").is_dir():
        (root / "a" / ".gitignore").write_text("\n".join(below))
    assert shipped(root) == known_to_git(root)


@HAS_GIT
def test_what_the_repository_says_above_the_directory_counts(tmp_path):
    root = repository(tmp_path / "repository")
    write(root, train__model_ckpt="", train__data__x="", train__train_py="")
    (root / ".gitignore").write_text("*.ckpt\n/train/data\n")
    assert shipped(root / "train") == {"train.py"} == known_to_git(root / "train")


def test_outside_of_a_repository_nothing_above_the_directory_counts(tmp_path):
    write(tmp_path, work__train_py="")
    (tmp_path / ".gitignore").write_text("*\n")
    assert shipped(tmp_path / "work") == {"train.py"}


def test_the_last_word_has_tfignore(tmp_path):
    write(tmp_path, data__x_csv="", data__y_tmp="", train_py="", notes_txt="")
    (tmp_path / "data" / ".gitignore").write_text("*\n")
    (tmp_path / ".gitignore").write_text("data/\n")
    (tmp_path / ".tfignore").write_text("!data/\n!*.csv\nnotes.txt\n.*ignore\n")
    assert shipped(tmp_path) == {"data/x.csv", "train.py"}


@pytest.mark.parametrize("name", [".git", ".venv", "__pycache__"])
def test_some_directories_are_left_out_whatever_the_files_say(tmp_path, name):
    write(tmp_path, train_py="")
    (tmp_path / "a" / name).mkdir(parents=True)
    (tmp_path / "a" / name / "file").write_text("")
    (tmp_path / ".tfignore").write_text(f"!*/\n!{name}\n.*ignore\n")
    assert shipped(tmp_path) == {"train.py"}


def test_a_file_of_another_system_has_the_same_rules(tmp_path):
    write(tmp_path, a_log="", b_py="")
    (tmp_path / ".tfignore").write_bytes(b"\xef\xbb\xbf*.log\r\n.tfignore\r\n")
    assert shipped(tmp_path) == {"b.py"}


def test_a_file_of_rules_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / ".tfignore").symlink_to(".tfignore")
    with pytest.raises(CannotRead, match=r"\.tfignore cannot be read: Too many levels"):
        shipped(tmp_path)


@pytest.mark.parametrize(
    "pattern", ["*a" * 30 + "b", "**/a/" * 30 + "b", "/" + "**/*a/" * 20 + "b"]
)
def test_a_pattern_of_many_stars_is_soon_decided(pattern):
    path = "a" * 200 if "/" not in pattern else "/".join("a" * 200)
    assert not Pattern(pattern).fits(path, False)  # and not in a thousand years
    assert Pattern(pattern.replace("b", "a")).fits(path, False)


def test_a_fifo_or_a_very_long_file_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / ".gitignore")
    with pytest.raises(CannotRead, match="not a regular file"):
        Rules().within(str(tmp_path))
    (tmp_path / ".gitignore").unlink()
    (tmp_path / ".tfignore").write_bytes(bytes(LARGEST + 1))
    with pytest.raises(CannotRead, match="1,048,576 bytes"):
        Rules().within(str(tmp_path))
