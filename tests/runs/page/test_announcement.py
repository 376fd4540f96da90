"""A page that is served is found by its owner's other commands, and by nobody else's."""

import os
import stat

import pytest

from tests.sentences import names
from tfmesos.errors import CannotWrite
from tfmesos.runs.page import announcement as announcing
from tfmesos.runs.page.announcement import Announcement, announce
from tfmesos.runs.page.browser_access import Served

SERVED = Served.new(8123, 7)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "new" / "state" / "page.json"


def test_a_full_disk_is_said_in_one_line():
    with open("/dev/full", "wb") as full, pytest.raises(CannotWrite) as caught:
        announce(full.fileno(), SERVED)
    assert names(str(caught.value), "no page", "No space left on device")


def test_a_page_is_found_while_it_is_served_and_no_second_one_may_be(file):
    with Announcement(file).claimed() as descriptor:
        announce(descriptor, SERVED)
        with Announcement(file).claimed() as second:
            assert second is None
        assert Announcement(file).found() == SERVED
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert not file.exists()


def test_what_a_crash_has_left_is_no_page(file, monkeypatch):
    monkeypatch.setattr(announcing, "WRITTEN_WITHIN", 0.1)
    file.parent.mkdir(parents=True)
    file.write_text('{"port": 1, "path": "/x/", "key": "k", "pid": 1}')
    with Announcement(file).claimed() as descriptor:
        assert descriptor is not None
        assert Announcement(file).found() is None


def test_one_that_has_just_ended_is_not_found_and_leaves_nothing(file):
    assert Announcement(file).found() is None
    assert not file.parent.exists()


def test_each_machine_that_shares_a_directory_has_a_file_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(announcing.socket, "gethostname", lambda: "node/1")
    assert announcing.file_in(tmp_path / "state") == tmp_path / "state" / "page-node-1.json"


def test_a_file_that_others_could_read_is_closed_to_them_before_the_key_is_in_it(file):
    file.parent.mkdir(parents=True)
    file.touch()
    file.chmod(0o666)
    with Announcement(file).claimed():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_in_place_of_the_file_is_not_followed(file, tmp_path):
    file.parent.mkdir(parents=True)
    file.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CannotWrite, match="no page can be served"), Announcement(file).claimed():
        pass
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_the_announcement_of_another_user_is_not_believed(file):
    file.parent.mkdir(parents=True)
    file.touch()
    os.chown(file, 65534, 65534)
    with (
        pytest.raises(CannotWrite, match="it belongs to another user"),
        Announcement(file).claimed(),
    ):
        pass
