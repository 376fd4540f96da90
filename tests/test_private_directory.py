"""What is ours is made for us alone, and what somebody else could have written is told from it."""

import grp
import os
import pwd
from pathlib import Path

import pytest

from tfmesos.private_directory import make_private, weakness

ONLY_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can own files as somebody else")
STRANGER = 65534


@pytest.fixture(params=[0o000, 0o002, 0o022])
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path):
    return path.stat().st_mode & 0o7777


def test_all_that_is_made_on_the_way_is_for_its_owner_alone(tmp_path, umask):
    deepest = tmp_path / "a" / "b" / "c"
    make_private(deepest)
    assert [mode(path) for path in (deepest, *deepest.parents[:2])] == [0o700] * 3
    assert weakness(deepest) == ""


def test_what_is_there_stays_as_it_is(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o755)
    make_private(tmp_path / "a")
    assert mode(tmp_path / "a") == 0o755


def test_a_file_in_the_way_is_an_error(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(OSError):
        make_private(tmp_path / "a")
    with pytest.raises(OSError):
        make_private(tmp_path / "a" / "b")


@pytest.mark.parametrize("below", ["", ".local/state"])
def test_the_home_of_a_user_who_has_none_is_not_made(tmp_path, monkeypatch, below):
    home = tmp_path / "nonexistent"
    monkeypatch.setenv("HOME", f"{home}/")
    with pytest.raises(FileNotFoundError) as caught:
        make_private(home / below)
    assert caught.value.filename == str(home)
    assert not home.exists()


@pytest.mark.parametrize("wide", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("which", ["a", "a/b", "a/b/c"])
def test_a_directory_on_the_way_that_others_write_into_is_named(tmp_path, which, wide):
    make_private(tmp_path / "a" / "b" / "c")
    (tmp_path / which).chmod(wide)
    found = weakness(tmp_path / "a" / "b" / "c")
    assert f"{tmp_path / which} " in found and "chmod go-w" in found and "chmod +t" in found


def test_a_sticky_directory_such_as_tmp_is_a_safe_parent(tmp_path):
    make_private(tmp_path / "a" / "b")
    (tmp_path / "a").chmod(0o1777)
    assert weakness(tmp_path / "a" / "b") == ""


def test_a_file_is_not_safe_because_it_is_sticky(tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "file").chmod(0o1666)
    assert "chmod go-w" in weakness(tmp_path / "file") and "+t" not in weakness(tmp_path / "file")


def test_what_is_not_there_yet_is_as_safe_as_what_is_above_it(tmp_path):
    assert weakness(tmp_path / "a" / "b") == ""
    (tmp_path / "a").mkdir()
    (tmp_path / "a").chmod(0o777)
    assert f"{tmp_path / 'a'} " in weakness(tmp_path / "a" / "b")


@ONLY_ROOT
def test_a_directory_of_another_user_is_named_with_the_user(tmp_path):
    make_private(tmp_path / "a" / "b")
    os.chown(tmp_path / "a", STRANGER, -1)
    found = weakness(tmp_path / "a" / "b")
    assert f"{tmp_path / 'a'} " in found and pwd.getpwuid(STRANGER).pw_name in found


@ONLY_ROOT
def test_a_link_of_another_user_is_not_followed(tmp_path):
    make_private(tmp_path / "ours")
    (tmp_path / "link").symlink_to(tmp_path / "ours")
    assert weakness(tmp_path / "link") == ""
    os.lchown(tmp_path / "link", STRANGER, -1)
    assert f"{tmp_path / 'link'} " in weakness(tmp_path / "link")


def test_what_a_link_leads_through_must_be_safe_too(tmp_path):
    make_private(tmp_path / "open" / "ours")
    (tmp_path / "open" / "second").symlink_to("ours")
    (tmp_path / "first").symlink_to("open/second")
    assert weakness(tmp_path / "first" / "x") == ""
    (tmp_path / "open").chmod(0o777)
    assert f"{tmp_path / 'open'} " in weakness(tmp_path / "first" / "x")


def test_links_that_lead_in_a_circle_end(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert "symbolic links" in weakness(tmp_path / "a")


@pytest.mark.parametrize(
    ("name", "members", "is_safe"),
    [("ann", [], True), ("ann", ["ann"], True), ("ann", ["bob"], False), ("users", [], False)],
)
def test_a_group_of_the_user_alone_may_write(tmp_path, monkeypatch, name, members, is_safe):
    """Many systems give each user a group of the same name, and a umask of 002."""
    place = tmp_path / "a"
    make_private(place)
    place.chmod(0o775)
    gid = place.stat().st_gid or 4321
    lstat = os.lstat

    def of_ann(path):
        found = lstat(path)
        return os.stat_result([*found[:5], gid, *found[6:10]])

    ann = pwd.struct_passwd(("ann", "x", os.geteuid(), gid, "", "/home/ann", "/bin/sh"))
    monkeypatch.setattr(os, "lstat", of_ann)
    monkeypatch.setattr(pwd, "getpwuid", lambda uid: ann)
    monkeypatch.setattr(grp, "getgrgid", lambda gid: grp.struct_group((name, "x", gid, members)))
    assert (weakness(place) == "") is is_safe


@ONLY_ROOT
def test_a_user_without_a_name_is_named_by_number(tmp_path):
    make_private(tmp_path / "a")
    os.chown(tmp_path / "a", 54321, -1)
    assert "54321" in weakness(Path(tmp_path / "a"))
