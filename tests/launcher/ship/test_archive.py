"""Archives of others: unpacked in their directory, or refused with the reason."""

from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile

import pytest

from tfmesos.launcher.ship import archive
from tfmesos.launcher.ship.archive import BadArchive, unpack
from tfmesos.launcher.ship.tree import Stopped

LINK = (stat.S_IFLNK | 0o777) << 16


def a_zip(path, members, rights=0o755):
    """*members*: name -> bytes; a text is where a link leads."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = LINK if isinstance(content, str) else rights << 16
            file.writestr(info, content, zipfile.ZIP_DEFLATED)


def a_tar(path, members, mode="w:gz", rights=0o755):
    with tarfile.open(path, mode) as file:
        for name, content in members:
            info = tarfile.TarInfo(name)
            info.mode = rights
            if isinstance(content, str):
                info.type, info.linkname, content = tarfile.SYMTYPE, content, b""
            info.size = len(content)
            file.addfile(info, io.BytesIO(content))


def unpack_at(path, directory):
    with open(path, "rb") as file:
        return unpack(file, str(directory))


both = pytest.mark.parametrize("make", [a_zip, a_tar])


@pytest.fixture
def unpacked(tmp_path):
    """Make an archive and unpack it; returns the directory, which must exist by then."""

    def unpacked(make, *members, **more):
        made, directory = tmp_path / "archive", tmp_path / "out"
        directory.mkdir()
        make(made, members, **more)
        assert unpack_at(made, directory)
        return directory

    return unpacked


def tree(directory):
    return {str(p.relative_to(directory)) for p in directory.rglob("*")}


@both
def test_files_links_and_rights_are_kept(make, unpacked):
    out = unpacked(make, ("a/b/run.py", b"1"), ("a/near", "b/run.py"), ("a/b/up", ".."))
    assert (out / "a/near").read_bytes() == b"1"
    assert (out / "a/b/up").resolve() == out / "a"
    assert (out / "a/b/run.py").stat().st_mode & 0o777 == 0o755


@both
@pytest.mark.parametrize(
    ("mode", "kept"), [(0o4777, 0o755), (0o2711, 0o755), (0o666, 0o644), (0o400, 0o644), (0, 0o644)]
)
def test_of_the_rights_of_a_file_only_its_execution_is_kept(make, mode, kept, unpacked):
    out = unpacked(make, ("file", b"1"), rights=mode)
    assert stat.S_IMODE((out / "file").stat().st_mode) == kept


@both
def test_names_may_begin_with_a_dot_as_tar_writes_them(make, unpacked):
    out = unpacked(make, ("./a/run.py", b"1"), ("./a/near", "run.py"), ("./far", "a//run.py"))
    assert tree(out) == {"a", "a/run.py", "a/near", "far"}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_may_be_compressed_in_the_usual_ways(mode, unpacked):
    out = unpacked(a_tar, ("x.py", b"1"), mode=mode)
    assert tree(out) == {"x.py"}


@both
@pytest.mark.parametrize("name", ["../x", "a/../../x", "/x", "a/..", "a\\..\\x"])
def test_a_name_that_leads_out_is_refused(make, name, unpacked, tmp_path):
    with pytest.raises(BadArchive, match="which points outside its directory"):
        unpacked(make, ("good", b""), (name, b"bad"))
    assert tree(tmp_path) == {"archive", "out", "out/good"}


@both
@pytest.mark.parametrize(
    "links",
    [
        [("l", "..")],
        [("l", "/etc/passwd")],
        [("d/l", "../../x")],
        [("d/l", ".."), ("out", "d/l/..")],  # looks as if it led to d
        [("a", "b"), ("b", "..")],
        [("a", "/no/such"), ("a/x", "y")],
        [("d", "../x")],
    ],
)
def test_a_link_that_leads_out_is_refused(make, links, unpacked):
    with pytest.raises(BadArchive, match=r"contains the link '.*', which points outside it, to"):
        unpacked(make, ("d/file", b""), *links)


@both
def test_no_file_is_written_through_a_link(make, unpacked, tmp_path):
    (tmp_path / "victim").mkdir()
    with pytest.raises(
        BadArchive, match=r"^contains the link 'l', which points outside it, to '../v"
    ):
        unpacked(make, ("l", "../victim"), ("l/x", b"bad"))
    assert not list((tmp_path / "victim").iterdir())


@both
@pytest.mark.parametrize("name", ["l/x", "l/new/x"])
def test_no_link_is_made_through_a_link(make, name, unpacked, tmp_path):
    (tmp_path / "victim").mkdir()
    with pytest.raises(BadArchive, match=rf"^holds '{name}', which is behind a link$"):
        unpacked(make, ("l", "../victim"), (name, "y"))
    assert not list((tmp_path / "victim").iterdir())


@both
def test_a_bomb_is_refused_before_it_fills_the_disk(make, unpacked, monkeypatch, tmp_path):
    monkeypatch.setattr(archive, "MAX_BYTES", 2 * 2**20)
    zeros = bytes(2**20)
    with pytest.raises(BadArchive, match="is larger than 2 MiB unpacked"):
        unpacked(make, *((f"{n}", zeros) for n in range(9)))
    assert sum(p.stat().st_size for p in (tmp_path / "out").iterdir()) <= 3 * 2**20


def test_a_tar_cannot_claim_a_header_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 2**20)
    monkeypatch.setattr(archive, "MAX_MEMBERS", 1)
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 2**40
    path = tmp_path / "bomb.tar"
    path.write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(4 * 2**20))
    with pytest.raises(BadArchive, match="is larger than 1 MiB unpacked"):
        unpack_at(path, tmp_path)


@both
def test_as_many_files_as_allowed_are_unpacked(make, unpacked, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    assert tree(unpacked(make, *((f"{n}", b"") for n in range(3)))) == {"0", "1", "2"}


@both
def test_as_many_bytes_as_allowed_are_unpacked(make, unpacked, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 2**20)
    out = unpacked(make, ("a", bytes(2**19)), ("b", bytes(2**19)), ("c", b""))
    assert tree(out) == {"a", "b", "c"}


def test_empty_directories_are_made_and_may_be_named_again(tmp_path, unpacked):
    def with_directories(path, members):
        with zipfile.ZipFile(path, "w") as file:
            for name in ("d/", "d/e/", "d/"):
                file.writestr(zipfile.ZipInfo(name), b"")

    with pytest.warns(UserWarning, match="Duplicate name"):
        assert tree(unpacked(with_directories)) == {"d", "d/e"}


def test_directories_of_a_tar_are_made(unpacked):
    def with_directories(path, members):
        with tarfile.open(path, "w") as file:
            for name in ("d", "d/e", "d"):
                info = tarfile.TarInfo(name)
                info.type, info.mode = tarfile.DIRTYPE, 0o700
                file.addfile(info)

    assert tree(unpacked(with_directories)) == {"d", "d/e"}


def test_an_archive_without_a_file_is_one(unpacked):
    assert tree(unpacked(a_zip)) == set()


@both
def test_too_many_files_are_refused(make, unpacked, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    with pytest.raises(BadArchive, match="contains more than 3 files"):
        unpacked(make, *((f"{n}", b"") for n in range(4)))


@both
def test_two_files_of_one_name_are_refused(make, unpacked):
    with pytest.raises(BadArchive, match="cannot be unpacked: File exists"):
        unpacked(make, ("x", b"1"), ("./x", b"2"))


@pytest.mark.parametrize("kind", [tarfile.FIFOTYPE, tarfile.CHRTYPE, tarfile.LNKTYPE])
def test_what_is_no_file_is_refused(kind, tmp_path):
    with tarfile.open(tmp_path / "t.tar", "w") as file:
        info = tarfile.TarInfo("odd")
        info.type, info.linkname = kind, "odd"
        file.addfile(info)
    with pytest.raises(BadArchive, match=r"'odd', .* not a file"):
        unpack_at(tmp_path / "t.tar", tmp_path)


@both
def test_an_archive_that_was_cut_is_refused(make, tmp_path):
    path = tmp_path / "cut"
    make(path, [("x", bytes(range(256)) * 400)])
    path.write_bytes(path.read_bytes()[:-90])
    with pytest.raises(BadArchive, match="cannot be unpacked: "):
        unpack_at(path, tmp_path)


def test_what_is_no_archive_is_left_alone(tmp_path):
    path = tmp_path / "train.py"
    path.write_text("print(1)")
    assert unpack_at(path, tmp_path) is False


@both
def test_a_link_that_is_a_directory_besides_is_named(make, unpacked):
    with pytest.raises(BadArchive, match=r"^holds 'l' twice, once as a link$"):
        unpacked(make, ("d/file", b""), ("l", "d"), ("l/x", b""))


@pytest.mark.parametrize("mode", ["w", "w:gz"])
@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_header_without_end_is_refused_before_it_is_read(mode, kind, tmp_path):
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, archive.MAX_BYTES // 2
    opened = gzip.open if mode == "w:gz" else open
    with opened(tmp_path / "bomb", "wb") as file:
        file.write(header.tobuf(tarfile.USTAR_FORMAT))
        file.write(bytes(16 * archive.MAX_HEADER))
    with open(tmp_path / "bomb", "rb") as file, pytest.raises(BadArchive, match="header of more"):
        unpack(file, str(tmp_path))
    assert tree(tmp_path) == {"bomb"}


def test_a_zip_of_too_many_is_refused_before_anything_is_made_of_its_list(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    a_zip(tmp_path / "many", [(f"f{n}", b"") for n in range(4)])
    monkeypatch.setattr(zipfile, "ZipInfo", None)  # nobody may make one
    with pytest.raises(BadArchive, match="contains more than 3 files"):
        unpack_at(tmp_path / "many", tmp_path)


def test_the_list_of_a_zip_has_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_DIRECTORY", 200)
    a_zip(tmp_path / "long", [(f"{'f' * 100}{n}", b"") for n in range(2)])
    with pytest.raises(BadArchive, match="has a directory of more"):
        unpack_at(tmp_path / "long", tmp_path)


@pytest.mark.parametrize("how", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_inflates_without_measure_is_refused(tmp_path, how):
    with zipfile.ZipFile(tmp_path / "odd", "w", how) as file:
        file.writestr("x", b"x")
    with pytest.raises(BadArchive, match="'x', which is not compressed with deflate"):
        unpack_at(tmp_path / "odd", tmp_path)


@both
def test_directories_too_deep_in_each_other_are_refused(make, tmp_path):
    make(tmp_path / "deep", [("a/" * 1200 + "x", b"")])
    with pytest.raises(BadArchive, match="more than 200 levels deep"):
        unpack_at(tmp_path / "deep", tmp_path)


@both
def test_unpacking_ends_when_nobody_wants_it_any_more(make, tmp_path):
    make(tmp_path / "archive", [(f"f{n}", b"x") for n in range(5)])
    asked = iter([False, False, True])
    with open(tmp_path / "archive", "rb") as file, pytest.raises(Stopped):
        unpack(file, str(tmp_path), lambda: next(asked))
    assert tree(tmp_path) == {"archive", "f0"}
