"""A pack becomes the files it was made of, and nothing else, nowhere else."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path

import pytest

from tests.packs import by_hand, everything_in, one_file, packed, write
from tfmesos.errors import FrameError
from tfmesos.launcher.ship.pack import Pack
from tfmesos.node.task.unpack import Unpacker


def unpack(pack: Pack, into: Path, piece: int = 2**20) -> Unpacker:
    unpacker = Unpacker(str(into), pack.describe())
    while data := pack.read(unpacker.received, piece):
        unpacker.feed(data)
    return unpacker


@pytest.fixture
def source(tmp_path):
    directory = write(
        tmp_path / "source",
        train_py="import model\n",
        package__model_py=b"x = 1\n" * 50_000,
        package__copy_py=b"x = 1\n" * 50_000,
        empty_txt="",
        random_bin=os.urandom(100_000),
    )
    (directory / "run.sh").write_text("#!/bin/sh\n")
    (directory / "run.sh").chmod(0o755)
    (directory / "key").write_text("secret")
    (directory / "key").chmod(0o600)
    (directory / "nothing here").mkdir()
    (directory / "package" / "link").symlink_to("../train.py")
    (directory / "\udcff no text").write_text("bytes")
    return directory


@pytest.mark.parametrize("is_deflated", [True, False])
@pytest.mark.parametrize("piece", [1000, 64 * 1024, 2**20])
def test_what_is_unpacked_is_what_was_packed(source, tmp_path, piece, is_deflated):
    pack = packed(source, is_deflated=is_deflated)
    unpacker = unpack(pack, tmp_path / "copy", piece)
    assert unpacker.is_whole
    assert everything_in(tmp_path / "copy") == everything_in(source)


def test_an_empty_directory_is_whole_at_its_last_byte(tmp_path):
    (tmp_path / "empty").mkdir()
    assert unpack(packed(tmp_path / "empty"), tmp_path / "copy").is_whole
    assert everything_in(tmp_path / "copy") == {}


def test_files_of_one_content_are_no_one_file(source, tmp_path):
    unpack(packed(source), tmp_path / "copy")
    (tmp_path / "copy/package/copy.py").write_text("changed")
    assert (tmp_path / "copy/package/model.py").read_bytes() == b"x = 1\n" * 50_000


@pytest.mark.parametrize("where", [0, 40, -1, -50_000])
def test_a_byte_that_came_wrong_is_noticed(source, tmp_path, where):
    pack = packed(source)
    damaged = bytearray(pack.manifest + pack.read(len(pack.manifest), pack.size))
    damaged[where] ^= 1
    unpacker = Unpacker(str(tmp_path / "copy"), pack.describe())
    with pytest.raises(FrameError, match="damaged"):
        unpacker.feed(bytes(damaged))
    unpacker.remove_all()
    assert not (tmp_path / "copy").exists()


def test_more_bytes_than_were_described_are_refused(source, tmp_path):
    unpacker = unpack(packed(source), tmp_path / "copy")
    with pytest.raises(FrameError, match="damaged"):
        unpacker.feed(b"x")


def test_a_content_that_grows_beyond_its_size_is_refused_before_it_fills_the_disk(tmp_path):
    bomb = zlib.compress(bytes(100_000_000))
    entry = ["0" * 64, 1000, len(bomb), [["bomb", 0o644]]]
    pack = by_hand(bomb, contents=[entry])
    unpacker = Unpacker(str(tmp_path / "copy"), pack.describe())
    with pytest.raises(FrameError, match="damaged"):
        unpacker.feed(pack.manifest + bomb)
    assert (tmp_path / "copy/bomb").stat().st_size <= 1000
    unpacker.remove_all()


OUTSIDE = ["../out", "/tmp/out", "a/../../out", "a//b", "", ".", "..", "a/.", "a\0b", 7, None]


@pytest.mark.parametrize("path", OUTSIDE)
@pytest.mark.parametrize("kind", ["contents", "directories", "links"])
def test_no_path_leads_out_of_the_directory(tmp_path, kind, path):
    entries = {"contents": one_file(path), "directories": [path, 0o755], "links": [path, "x"]}
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(FrameError, match="their list is malformed"):
        unpack(by_hand(b"x", **{kind: [entries[kind]]}), place / "copy")
    assert everything_in(place) == {"copy": None}


@pytest.mark.parametrize(
    "links",
    [
        [["a/b/d", ".."], ["a/b/d/q", "../../x"]],  # in a directory that is none
        [["a/b/d", ".."], ["q", "a/b/d/../.."]],  # by way of another link
    ],
)
def test_no_two_links_lead_out_together(tmp_path, links):
    directories = [["a", 0o755], ["a/b", 0o755]]
    with pytest.raises(FrameError, match=r"a link .* outside"):
        unpack(by_hand(directories=directories, links=links), tmp_path / "copy")


@pytest.mark.parametrize("target", ["..", "../..", "/etc/passwd", "a/../../b", "", "a\0"])
def test_no_link_leads_out_of_the_directory(tmp_path, target):
    with pytest.raises(FrameError, match="their list is malformed"):
        unpack(by_hand(links=[["link", target]]), tmp_path / "copy")


def test_nothing_is_written_through_a_link(tmp_path):
    """Not even if the manifest names a file below one."""
    pack = by_hand(b"x", links=[["way", "."]], contents=[one_file("way/file")])
    with pytest.raises(OSError):
        unpack(pack, tmp_path / "copy")
    assert everything_in(tmp_path / "copy") == {}


def test_one_name_twice_is_refused(tmp_path):
    with pytest.raises(FileExistsError):
        unpack(by_hand(b"xx", contents=[one_file("a"), one_file("a")]), tmp_path / "copy")


@pytest.mark.parametrize(
    "manifest",
    [
        {"contents": None},
        {"contents": [[]]},
        {"contents": [["hash", -1, None, [["a", 0o644]]]]},
        {"contents": [["hash", 0, -1, [["a", 0o644]]]]},
        {"contents": [["hash", 0, None, []]]},
        {"contents": [["hash", 0, None, [["a", "x"]]]]},
        {"links": [["a"]]},
        {"directories": {"a": 1}},
        {"directories": [["a", {}]]},
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path, manifest):
    with pytest.raises(FrameError, match="their list is malformed"):
        unpack(by_hand(**manifest), tmp_path / "copy")


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(tmp_path):
    size = 2**60
    entry = ["0" * 64, size, None, [["large", 0o644]]]
    with pytest.raises(OSError, match=r"no space left on device: .* MB is free"):
        unpack(by_hand(b"x", contents=[entry]), tmp_path / "copy")
    assert everything_in(tmp_path / "copy") == {}


def test_a_secret_is_never_readable_by_others_while_it_comes(tmp_path):
    pack = by_hand(b"xy", contents=[one_file("key", b"xy", 0o600), one_file("file", b"", 0o644)])
    unpacker = Unpacker(str(tmp_path / "copy"), pack.describe())
    unpacker.feed(pack.manifest)
    unpacker.feed(b"x")
    assert (tmp_path / "copy/key").stat().st_mode & 0o777 == 0o600
    unpacker.remove_all()


def test_what_was_unpacked_goes_and_what_the_command_wrote_stays(source, tmp_path):
    copy = tmp_path / "copy"
    unpacker = unpack(packed(source), copy)
    (copy / "package" / "model.h5").write_text("weights")
    (copy / "train.py").write_text("edited")
    (copy / "package" / "__pycache__").mkdir()
    (copy / "package" / "__pycache__" / "model.pyc").write_text("code")
    unpacker.remove()
    left = everything_in(copy)
    assert sorted(left) == ["package", "package/model.h5", "train.py"]
    assert left["train.py"][0] == b"edited"


def test_of_a_copy_that_nobody_changed_nothing_is_left(source, tmp_path):
    unpack(packed(source), tmp_path / "copy").remove()
    assert not (tmp_path / "copy").exists()


def test_removing_follows_no_link(source, tmp_path):
    copy, elsewhere = tmp_path / "copy", write(tmp_path / "elsewhere", file_txt="mine")
    unpacker = unpack(packed(source), copy)
    stamp = (copy / "train.py").stat().st_mtime_ns
    os.utime(elsewhere / "file.txt", ns=(stamp, stamp))
    (copy / "way").symlink_to(elsewhere)
    unpacker.remove()
    assert (elsewhere / "file.txt").read_text() == "mine"


def test_whoever_must_be_heard_meanwhile_is_called_for_each_path(tmp_path):
    same = [hashlib.sha256(b"x").hexdigest(), 1, None, [[f"f{n}", 0o644] for n in range(10)]]
    directories, links = [[f"d{n}", 0o755] for n in range(10)], [[f"l{n}", "f0"] for n in range(10)]
    pack, called = by_hand(b"x", directories=directories, contents=[same], links=links), []
    unpacker = Unpacker(str(tmp_path / "copy"), pack.describe(), go_on=lambda: called.append(1))
    while data := pack.read(unpacker.received, pack.size):
        unpacker.feed(data)
    assert unpacker.is_whole and len(called) >= 29
    called.clear()
    unpacker.remove()
    assert len(called) >= 30 and not (tmp_path / "copy").exists()
