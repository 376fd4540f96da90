"""A directory is packed once, always in the same way, and nothing that changes is packed."""

from __future__ import annotations

import errno
import io
import json
import os
import socket
import subprocess
import sys

import pytest

from tests.packs import NO_LIMIT, packed, tree_of, write
from tests.sentences import names
from tfmesos.errors import CannotRead, CannotWrite, SpecError
from tfmesos.launcher.ship.pack import Packer, Stopped, TooLarge
from tfmesos.launcher.ship.tree import Tree


def whole(pack) -> bytes:
    return pack.manifest + pack.read(len(pack.manifest), pack.size)


def test_the_same_tree_makes_the_same_pack(tmp_path):
    for name, order in (("one", "abc"), ("two", "cab")):
        for letter in order:
            write(tmp_path / name, **{f"{letter}_py": letter * 100, f"{letter}__x": letter})
    os.utime(tmp_path / "two" / "a.py", (0, 0))
    assert whole(packed(tmp_path / "one")) == whole(packed(tmp_path / "two"))


def test_a_content_is_in_the_pack_once_however_often_it_is_in_the_tree(tmp_path):
    data = os.urandom(100_000)
    write(tmp_path, a_bin=data, b__c_bin=data, d_bin=data)
    pack = packed(tmp_path)
    assert pack.size == len(pack.manifest) + len(data)
    (entry,) = json.loads(pack.manifest)["contents"]
    assert [path for path, _ in entry[3]] == ["a.bin", "b/c.bin", "d.bin"]


def test_only_what_shrinks_is_deflated(tmp_path):
    write(tmp_path, code_py="x = 1\n" * 50_000, noise_bin=os.urandom(100_000))
    sizes = {
        entry[3][0][0]: entry[1:3] for entry in json.loads(packed(tmp_path).manifest)["contents"]
    }
    assert sizes["noise.bin"] == [100_000, None]
    assert sizes["code.py"][1] < 10_000


def test_pieces_of_a_pack_put_together_are_the_pack(tmp_path):
    pack = packed(write(tmp_path, a_py="a" * 1000, b_bin=os.urandom(1000)))
    pieces, at = [], 0
    while piece := pack.read(at, 77):
        pieces.append(piece)
        at += len(piece)
    assert b"".join(pieces) == whole(pack) and at == pack.size


def test_a_pack_above_its_limit_is_given_up(tmp_path):
    write(tmp_path, a_bin=os.urandom(1000), b_bin=os.urandom(1000))
    assert packed(tmp_path, limit=2000).size > 2000
    with pytest.raises(TooLarge):
        packed(tmp_path, limit=1999)


def test_packing_ends_when_nobody_wants_it_any_more(tmp_path):
    packer = Packer(io.BytesIO(), NO_LIMIT, is_deflated=True, is_stopped=lambda: True)
    with pytest.raises(Stopped):
        packer.pack(tree_of(write(tmp_path, a_py="a")))


@pytest.mark.parametrize("change", ["longer", "shorter", "another", "a pipe"])
def test_a_file_that_changes_while_it_is_packed_is_named(tmp_path, change):
    write(tmp_path, steady_py="x", train_log="0123456789")
    tree, path = tree_of(tmp_path), tmp_path / "train.log"
    if change == "longer":
        path.write_text("0123456789abc")
    elif change == "shorter":
        path.write_text("01")
    else:
        path.unlink()
        path.write_text("0123456789") if change == "another" else os.mkfifo(path)
    with pytest.raises(CannotRead, match=r"train\.log changed .* try again"):
        Packer(io.BytesIO(), NO_LIMIT, is_deflated=True).pack(tree)


def test_a_file_that_is_gone_when_it_is_packed_is_named(tmp_path):
    tree = tree_of(write(tmp_path, train_py="x"))
    (tmp_path / "train.py").unlink()
    with pytest.raises(CannotRead, match=r"train\.py cannot be read: No such file"):
        Packer(io.BytesIO(), NO_LIMIT, is_deflated=True).pack(tree)


def test_a_full_disk_here_is_no_fault_of_a_file(tmp_path):
    tree = tree_of(write(tmp_path, train_py="x"))
    with open("/dev/full", "wb", buffering=0) as full:
        with pytest.raises(CannotWrite, match=r"no room here .*: No space left"):
            Packer(full, NO_LIMIT, is_deflated=True).pack(tree)


PACK_AS_ANOTHER = """
import io, os, sys
from tfmesos.launcher.ship.pack import Packer, Tree
os.getuid() or os.setuid(65534)  # root may read everything
tree = Tree()
tree.add_directory(sys.argv[1])
Packer(io.BytesIO(), 10**6, is_deflated=True).pack(tree)
"""


@pytest.mark.parametrize("name", ["closed.py", "closed"])
def test_what_cannot_be_read_is_named(tmp_path, name):
    write(tmp_path / "work", open_py="x")
    if name == "closed":
        (tmp_path / "work" / name).mkdir(0)
    else:
        write(tmp_path / "work", closed_py="x")
        (tmp_path / "work" / name).chmod(0)
    for place in (tmp_path / "work", *(tmp_path / "work").parents):
        place.chmod(place.stat().st_mode | 0o055)
    command = [sys.executable, "-c", PACK_AS_ANOTHER, str(tmp_path / "work")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert f"CannotRead: {tmp_path}/work/{name} cannot be read: Permission denied" in done.stderr


def test_a_link_within_the_directory_stays_one_wherever_the_directory_is(tmp_path):
    write(tmp_path, a__b__file_py="")
    (tmp_path / "a" / "up").symlink_to("../a/b/file.py")
    (tmp_path / "whole").symlink_to(tmp_path / "a" / "b")
    (tmp_path / "nowhere").symlink_to("a/missing")
    assert tree_of(tmp_path).links == {"a/up": "b/file.py", "whole": "a/b", "nowhere": "a/missing"}


@pytest.mark.parametrize("target", ["/etc/hostname", "../other", "a/../../x", "inner"])
def test_a_link_that_leads_out_is_refused(tmp_path, target):
    work = write(tmp_path / "work", a__file_py="")
    (work / "link").symlink_to(target)
    if target == "inner":  # leads out by way of a directory that is left out
        (work / "inner").symlink_to("/etc")
        (work / ".tfignore").write_text("inner\n")
    with pytest.raises(SpecError) as error:
        tree_of(work)
    assert names(str(error.value), "ship contains the link link", "to /", "with .tfignore")


def test_what_is_neither_file_nor_directory_nor_link_is_left_out(tmp_path):
    write(tmp_path, train_py="")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(str(tmp_path / "ear"))
        assert set(tree_of(tmp_path).files) == {"train.py"}


def test_directories_too_deep_in_each_other_are_refused(tmp_path):
    deep = tmp_path
    for _ in range(1200):
        deep /= "d"
        deep.mkdir()
    try:
        with pytest.raises(
            SpecError, match="ship has directories nested more than 200 levels deep in 'd'"
        ):
            tree_of(tmp_path)
    finally:
        subprocess.run(["rm", "-rf", tmp_path / "d"], check=True)


def test_a_link_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied", path)

    (tmp_path / "link").symlink_to("x")
    monkeypatch.setattr(os, "readlink", refuse)
    with pytest.raises(CannotRead, match="/link cannot be read: Permission denied"):
        tree_of(tmp_path)


def test_a_walk_ends_when_nobody_wants_it_any_more(tmp_path):
    with pytest.raises(Stopped):
        Tree(lambda: True).add_directory(str(tmp_path))


def test_single_files_come_beside_the_others_under_their_names(tmp_path):
    write(tmp_path, work__train_py="", other__conf_yaml="a: 1")
    tree = tree_of(tmp_path / "work")
    tree.add_files([(str(tmp_path / "other" / "conf.yaml"), "settings/deep/run.yaml")])
    assert sorted(tree.files) == ["settings/deep/run.yaml", "train.py"]
    assert tree.directories == {"settings": 0o755, "settings/deep": 0o755}


@pytest.mark.parametrize(
    "name, problem",
    [
        ("train.py", "gives two files the name 'train.py'"),
        ("package", "gives two files the name 'package'"),
        ("train.py/x", "'train.py/x' would be in a directory, but 'train.py' is not one"),
    ],
)
def test_two_files_of_one_name_are_refused(tmp_path, name, problem):
    tree = tree_of(write(tmp_path, train_py="", package__a_py=""))
    with pytest.raises(SpecError, match=f"ship_files {problem}"):
        tree.add_files([(str(tmp_path / "train.py"), name)])


def test_a_single_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CannotRead, match=r"missing\.txt cannot be read: No such file"):
        Tree().add_files([(str(tmp_path / "missing.txt"), "a")])
