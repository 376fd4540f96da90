"""What a task brings home gets its name when it is whole, and never one outside its directory."""

import asyncio
import errno
import os
from hashlib import sha256

import pytest

from tests.sentences import names
from tfmesos.core.outcome import Outcome
from tfmesos.errors import FrameError, Interrupted
from tfmesos.launcher.links.collected_files import Brought, Incoming, NotBrought, is_safe

BROUGHT = "worker-0/a/b"


def take(brought, *messages):
    async def main():
        for message in messages:
            await brought.take("id", message)

    asyncio.run(main())


@pytest.fixture
def brought(tmp_path):
    return Brought(tmp_path / "home", 100, lambda task_id: "worker:0")


def file(name):
    return {"type": "file", "name": name}


def part(data):
    return {"type": "part", "data": data}


def end(data=b"", problem=""):
    return {"type": "file_end", "sha256": sha256(data).hexdigest(), "problem": problem}


def everything(tmp_path):
    return sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*") if p.is_file())


def test_a_file_has_its_name_only_when_it_is_whole(brought, tmp_path):
    take(brought, file("a/b"), part(b"12"), part(b"34"))
    assert everything(tmp_path) == ["home/.coming-worker-0"] and brought.is_busy
    take(brought, end(b"1234"))
    assert everything(tmp_path) == ["home/worker-0/a/b"]
    assert (tmp_path / "home/worker-0/a/b").read_bytes() == b"1234"
    assert brought.is_busy and not brought.is_busy
    assert brought.error() is None


def test_only_what_was_kept_is_counted_and_each_file_once(brought, tmp_path):
    take(brought, file("a"), part(b"12345"), end(b"12345"))
    take(brought, file("a"), part(b"12"), end(b"12"))  # of a later attempt
    take(brought, file("b"), part(b"12345"), end(b"another"))
    assert names(brought.summary(), "1 file (2 bytes)", "worker:0", str(tmp_path / "home"))


def test_a_file_with_another_hash_is_not_kept(brought, tmp_path):
    take(brought, file("a"), part(b"12"), end(b"1X"))
    assert everything(tmp_path) == []
    assert names(str(brought.error()), "not collected", "worker:0: a:")


def test_a_task_that_sends_more_than_it_may_is_not_believed(brought, tmp_path):
    take(brought, file("a"), part(b"x" * 60), part(b"x" * 60), end(b"x" * 120))
    assert everything(tmp_path) == []
    assert "exceed the limit" in str(brought.error())


def test_what_a_lost_task_had_not_sent_is_removed_and_told(brought, tmp_path):
    take(brought, file("a"), part(b"12"))
    brought.gone("id")
    assert everything(tmp_path) == [] and not brought._incoming
    assert names(str(brought.error()), " a: ", "task was lost")


def test_what_another_attempt_brings_makes_up_for_it(brought, tmp_path):
    take(brought, file("a"), part(b"1"), end(problem="Permission denied"))
    take(brought, file("a"), part(b"12"), end(b"12"))
    take(brought, file("a"), part(b"123"), end(b"123"))
    assert brought.error() is None
    assert (tmp_path / "home/worker-0/a").read_bytes() == b"123"


def test_a_file_in_the_way_of_a_directory_is_told(brought, tmp_path):
    take(brought, file("a"), part(b"1"), end(b"1"), file("a/b"), part(b"2"), end(b"2"))
    assert everything(tmp_path) == ["home/worker-0/a"]
    said = f"not collected: worker:0: a/b: {os.strerror(errno.EEXIST)}"
    assert str(brought.error()) == said


def test_a_directory_in_the_way_of_a_file_is_told(brought, tmp_path):
    take(brought, file("a/b"), part(b"1"), end(b"1"), file("a"), part(b"2"), end(b"2"))
    assert everything(tmp_path) == ["home/worker-0/a/b"]
    assert str(brought.error()) == f"not collected: worker:0: a: {os.strerror(errno.EISDIR)}"


def test_what_was_dropped_leaves_alone_what_comes_under_its_name(tmp_path):
    first, second = (Incoming("a", tmp_path / "a", tmp_path / "coming") for _ in range(2))
    first.write(b"1")
    first.drop("it was enough")
    second.write(b"2")
    first.drop("again")
    second.keep(sha256(b"2").hexdigest())
    assert (first.problem, second.problem) == ("it was enough", "")
    assert everything(tmp_path) == ["a"]


def test_what_is_gone_from_the_disk_can_be_dropped(tmp_path):
    incoming = Incoming("a", tmp_path / "a", tmp_path / "coming")
    incoming.write(b"1")
    (tmp_path / "coming").unlink()
    incoming.drop("it was enough")
    assert incoming.problem == "it was enough"


def test_no_room_is_told_and_the_others_come(brought, tmp_path, monkeypatch):
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.coming-worker-0").symlink_to("/dev/full")
    take(brought, file("a"), part(b"1"), end(b"1"))
    (tmp_path / "home/.coming-worker-0").unlink()
    take(brought, file("b"), part(b"2"), end(b"2"))
    assert everything(tmp_path) == ["home/worker-0/b"]
    assert str(brought.error()).startswith("not collected: worker:0: a: ")


@pytest.mark.parametrize("name", ["", "/a", "../a", "a/../../b", "a//b", "a/.", "a\0b", "x" * 5000])
def test_a_name_that_leads_elsewhere_is_refused(brought, name):
    assert not is_safe(name)
    with pytest.raises(FrameError):
        take(brought, file(name))


@pytest.mark.parametrize("messages", [[part(b"1")], [end()], [file("a"), file("b")]])
def test_pieces_without_a_file_are_refused(brought, messages):
    with pytest.raises(FrameError):
        take(brought, *messages)


def test_what_was_brought_is_for_its_owner_alone_whatever_the_umask(brought, tmp_path):
    before = os.umask(0)
    try:
        take(brought, file("a/b"), part(b"1"), end(b"1"))
    finally:
        os.umask(before)
    home = tmp_path / "home"
    modes = [path.stat().st_mode & 0o777 for path in (home, home / "worker-0/a", home / BROUGHT)]
    assert modes == [0o700, 0o700, 0o600]


def test_every_task_has_its_own_directory_limit_and_file_on_the_way(tmp_path):
    brought = Brought(tmp_path / "new" / "home", 100, {"x": "worker:0", "y": "ps:1"}.__getitem__)

    async def main():
        for message in (file("a"), part(b"x" * 100), end(b"x" * 100)):
            for task in ("x", "y"):
                await brought.take(task, message)
        await brought.take("y", file("b"))

    assert not brought.is_busy and brought.summary() == ""
    asyncio.run(main())
    brought.close()
    brought.gone("x")
    assert everything(tmp_path) == ["new/home/ps-1/a", "new/home/worker-0/a"]
    assert names(brought.summary(), "2 files (200 bytes)", "worker:0, ps:1")
    assert names(str(brought.error()), "ps:1: b:", "task was lost")


def test_the_reason_of_a_task_or_of_the_disk_is_told(brought, tmp_path):
    take(brought, file("a"), end(problem="p" * 1000))
    assert str(brought.error()).endswith(f"a: {'p' * 300}")
    (tmp_path / "home").write_text("in the way")
    take(brought, file("b"), part(b"1"), end(b"1"))
    assert str(brought.error()).endswith(f"b: {os.strerror(errno.EEXIST)}")


def test_a_task_cannot_send_files_without_end(brought, tmp_path):
    """One more than the runner sends, which names the first that it leaves out."""
    for number in range(10_001):
        take(brought, file(f"{number}"), end(problem="empty"))
    with pytest.raises(FrameError):
        take(brought, file("one more"))
    assert everything(tmp_path) == []


def test_nothing_is_taken_that_nobody_asked_for():
    with pytest.raises(FrameError, match="nobody asked for"):
        take(Brought(None, 100, str), file("a"))


STOPPED = Outcome(error=Interrupted("stopped by its owner", 130))


@pytest.mark.parametrize("outcome", [Outcome(), STOPPED])
def test_what_has_come_is_said_and_changes_no_outcome(brought, tmp_path, outcome):
    take(brought, file("a"), part(b"12"), end(b"12"))
    said = []
    assert brought.settle(outcome, lambda *words: said.append(words)) is outcome
    assert said == [(f"1 file (2 bytes) of worker:0 in {tmp_path / 'home'}", "notice")]


def test_of_a_run_that_was_to_bring_nothing_nothing_is_said(brought):
    outcome = Outcome()
    assert brought.settle(outcome, lambda *words: pytest.fail(str(words))) is outcome


def test_a_success_without_all_that_should_have_come_is_a_failure(brought, tmp_path):
    take(brought, file("a"), part(b"12"))  # and no more of it
    settled = brought.settle(Outcome(), lambda *words: pytest.fail(str(words)))
    assert isinstance(settled.error, NotBrought) and settled.exit_code == 74
    assert names(str(settled.error), "worker:0: a: its task was lost")
    assert everything(tmp_path) == []


def test_a_failure_keeps_its_reason_and_what_did_not_come_is_said_beside_it(brought):
    take(brought, file("a"), end(problem="Permission denied"))
    said = []
    assert brought.settle(STOPPED, lambda *words: said.append(words)) is STOPPED
    assert said == [("not collected: worker:0: a: Permission denied", "warning")]


def test_of_many_that_did_not_come_three_are_named(brought):
    for name in "abcde":
        take(brought, file(name), end(problem="Permission denied"))
    assert str(brought.error()).count("Permission denied") == 3
