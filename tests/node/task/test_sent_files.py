"""The files that a runner sends home: found by globs, and nothing that only looks like one."""

from __future__ import annotations

import errno
import os
from hashlib import sha256

import pytest

from tests.packs import write
from tests.sentences import names
from tfmesos.node.link.outbox import Outbox
from tfmesos.node.runner_settings import Settings
from tfmesos.node.task import collection
from tfmesos.node.task.collection import PIECE, WINDOW, Bring, found
from tfmesos.shared import wire
from tfmesos.shared.handshake import NOBODY


@pytest.mark.parametrize(
    ("globs", "names"),
    [
        (["*.h5"], ["model.h5"]),
        (["*"], ["log", "model.h5"]),
        ([".*"], [".hidden"]),
        (["out/*"], ["out/a.h5"]),
        (["out/"], ["out/a.h5", "out/deep/er/b.h5"]),
        (["./out/**"], ["out/a.h5", "out/deep/er/b.h5"]),
        (["**/*.h5"], ["model.h5", "out/a.h5", "out/deep/er/b.h5"]),
        (["**/deep/**"], ["out/deep/er/b.h5"]),
        (["o[tu]t/?.h5", "out/a*"], ["out/a.h5"]),
        (["out", "nothing", "log/x"], []),
    ],
)
def test_globs_are_those_of_a_shell_and_follow_no_link(tmp_path, globs, names):
    write(tmp_path, model_h5="", log="", out__a_h5="", out__deep__er__b_h5="")
    (tmp_path / ".hidden").write_text("")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "x.h5").write_text("")
    (tmp_path / "linked.h5").symlink_to("/etc/passwd")
    (tmp_path / "linked").symlink_to("out")
    os.mkfifo(tmp_path / "pipe.h5")
    assert found(str(tmp_path), globs) == names


class Link:
    """A loop and an outbox at once: whoever waits for room gets it when all has been taken."""

    def __init__(self):
        self.outbox = Outbox()
        self.messages, self.most_waiting = [], 0

    def run_until(self, condition):
        self.most_waiting = max(self.most_waiting, self.outbox.waiting)
        if not condition():
            self.take_all()
        assert condition()

    def take_all(self):
        decoder = wire.FrameDecoder(wire.MAX_FRAME)
        while (frame := self.outbox.next()) is not None:
            self.messages += decoder.feed(frame)
        self.outbox.acknowledge(len(self.messages))


def sent(directory, *globs, limit=10_000_000, is_cut=lambda: False):
    """What goes home: name -> content or the problem; and what the runner says itself."""
    link, said, home = Link(), [], {}
    values = {"launcher": "h:1", "run": "run", "task": "none-has-this-mark", "owner": NOBODY}
    settings = Settings({**values, "connect_timeout": 1, "bring_limit": limit}, b"")
    Bring(link, link.outbox, settings, is_cut, said.append).send(str(directory), globs)
    link.take_all()
    assert link.most_waiting <= WINDOW
    for message in link.messages:
        if message["type"] == "file":
            name, content = message["name"], b""
        elif message["type"] == "part":
            assert len(message["data"]) <= PIECE
            content += message["data"]
        else:
            assert message["type"] == "file_end"
            digest = sha256(content).hexdigest()
            assert message["sha256"] == ("" if message["problem"] else digest)
            home[name] = message["problem"] or content
    return home, said


def test_files_go_home_whole_with_their_hash(tmp_path):
    large = os.urandom(60 * PIECE + 1)
    (tmp_path / "large").write_bytes(large)
    (tmp_path / "empty").touch()
    assert sent(tmp_path, "*") == ({"empty": b"", "large": large}, [])


def test_a_file_that_has_become_a_link_is_not_followed(tmp_path, monkeypatch):
    """Between the search and the opening: a task is not to have us read for it."""
    (tmp_path / "secret").write_text("hush")
    (tmp_path / "model").symlink_to("secret")
    monkeypatch.setattr(collection, "found", lambda directory, globs: ["model"])
    home, _ = sent(tmp_path, "model")
    assert home == {"model": os.strerror(errno.ELOOP)}


def test_a_file_that_has_become_a_pipe_is_not_waited_for(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "model")
    monkeypatch.setattr(collection, "found", lambda directory, globs: ["model"])
    assert sent(tmp_path, "model")[0] == {"model": "it is not a regular file"}


def test_what_is_beyond_the_limit_is_named_and_what_fits_comes(tmp_path):
    write(tmp_path, a="12345", b="123456", c="12345", d="1")
    too_much = "it would exceed the limit"
    home, _ = sent(tmp_path, "*", limit=10)
    assert home == {"a": b"12345", "b": too_much, "c": b"12345", "d": too_much}


def test_one_more_file_than_may_come_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "MOST_FILES", 2)
    write(tmp_path, a="", b="", c="", d="")
    assert sent(tmp_path, "*")[0] == {"a": b"", "b": b"", "c": "more than 2 files match"}


def test_a_name_that_is_no_text_is_named(tmp_path):
    open(os.path.join(os.fsencode(tmp_path), b"\xff.h5"), "w").close()
    assert sent(tmp_path, "*")[0] == {r"\udcff.h5": "its name is not UTF-8"}


def test_a_file_that_cannot_be_read_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(collection, "found", lambda directory, globs: ["gone"])
    assert sent(tmp_path, "*")[0] == {"gone": os.strerror(errno.ENOENT)}


def test_nothing_is_begun_when_there_is_no_time_left(tmp_path):
    write(tmp_path, a="1", b="2")
    assert sent(tmp_path, "*", is_cut=lambda: True) == ({}, [])


def test_a_file_on_its_way_is_given_up_when_the_time_is_over(tmp_path):
    write(tmp_path, a="1", b="2")
    answers = iter([False])
    home, _ = sent(tmp_path, "*", is_cut=lambda: next(answers, True))
    assert list(home) == ["a"] and names(home["a"], "run was ended", "transfer")


def test_it_is_said_if_no_file_matches(tmp_path):
    files, (said,) = sent(tmp_path, "*.h5", "x")
    assert files == {} and names(said, "no file", "*.h5, x")
