"""Runs are found by the beginning of their id, the newest first, and not kept for ever."""

import json
import os
from pathlib import Path

import pytest

from tests.sentences import begins
from tfmesos.runs.control import NoAnswer, ask
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import LauncherProcess, this_process
from tfmesos.runs.listing import as_json, list_of, status_of
from tfmesos.runs.prune import KEEP_FOR, prune, prune_when_due
from tfmesos.runs.run_directories import NoSuchRun, Store, Unsafe, runs_root

DEAD = this_process().replace(started=1)
ELSEWHERE = LauncherProcess("another-machine", "boot", 1, 1)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "runs")


def add(store, name, began=1000.0, launcher=DEAD):
    run = store.create(lambda: name)
    run.about_file.write_text(json.dumps({"began": began, "launcher": to_json(launcher)}))
    return run


def ids(runs):
    return [run.id for run in runs]


def test_the_newest_run_comes_first_and_is_meant_if_none_is_named(store):
    for name, began in (("aaaa", 1), ("bbbb", 3), ("cccc", 2)):
        add(store, name, began)
    assert ids(store.all()) == ["bbbb", "cccc", "aaaa"]
    assert store.find(None).id == "bbbb"


def test_the_beginning_of_an_id_will_do(store):
    for name in ("abcd", "abxy", "ab"):
        add(store, name)
    assert [store.find(given).id for given in ("abc", "abx", "ab")] == ["abcd", "abxy", "ab"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ab", "several runs ... 'ab': abcd, abxy"),
        ("abxx", "there is no run 'abxx': did you mean abxy?"),
        ("zz", "there is no run 'zz': the last ones are abcd, abxy"),
        ("", "there is no run '': the last ones are abcd, abxy"),
    ],
)
def test_a_wrong_id_names_the_nearest(store, given, words):
    add(store, "abcd", 2), add(store, "abxy", 1)
    with pytest.raises(NoSuchRun) as caught:
        store.find(given)
    assert begins(str(caught.value), words) and caught.value.exit_code == 2


def test_without_a_run_it_is_said_how_to_start_one(store):
    with pytest.raises(NoSuchRun, match="no runs yet"):
        store.find(None)


def test_an_id_that_is_taken_is_not_given_again(store):
    names = iter(["aaaa", "aaaa", "bbbb"])
    assert [store.create(lambda: next(names)).id for _ in range(2)] == ["aaaa", "bbbb"]


def test_the_directory_is_for_its_owner_alone(store):
    deep = Store(store.root / "tfmesos" / "runs")
    before = os.umask(0)
    try:
        run = deep.create(lambda: "aaaa")
    finally:
        os.umask(before)
    assert run.path.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (deep.root, *deep.root.parents[:2])] == [
        0o700
    ] * 3


def test_runs_lie_in_the_state_directory_of_the_user():
    assert runs_root({"XDG_STATE_HOME": "/x/state"}) == Path("/x/state/tfmesos/runs")
    home = Path.home() / ".local/state/tfmesos/runs"
    assert runs_root({}) == runs_root({"XDG_STATE_HOME": "relative"}) == home


def test_what_is_over_goes_when_there_are_too_many_or_it_is_too_old(store):
    now = 1e9
    add(store, "old", now - KEEP_FOR - 1)
    for n, name in enumerate(("newest", "second", "third")):
        add(store, name, now - n)
    add(store, "alive", now - 5, this_process())
    add(store, "far", now - 6, ELSEWHERE)
    assert prune(store, now, keep=2) == ["third", "old"]
    assert ids(store.all()) == ["newest", "second", "alive", "far"]


def test_old_runs_go_by_themselves_when_another_one_ends(store, monkeypatch):
    monkeypatch.setattr("tfmesos.runs.prune.KEEP", 2)
    monkeypatch.setattr("tfmesos.runs.prune.AT_ONCE", 2)
    kept = []
    for n in range(5):
        add(store, f"run{n}", 1000.0 + n)
        prune_when_due(store, 1005.0)
        kept.append(len(store.all()))
    assert kept == [1, 2, 3, 2, 3], "several at once"
    assert ids(store.all()) == ["run4", "run3", "run2"]
    for path in store.root.iterdir():
        os.utime(path, (0, 0))
    prune_when_due(store, 1000.0 + KEEP_FOR + 5)
    assert store.all() == []


@pytest.mark.parametrize(
    ("launcher", "is_alive"),
    [
        (this_process(), True),
        (DEAD, False),
        (this_process().replace(boot_id="an earlier boot"), False),
        (ELSEWHERE, None),
    ],
)
def test_a_launcher_is_told_from_others_by_machine_boot_and_start(launcher, is_alive):
    assert launcher.is_alive is is_alive


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"launcher": {"is": "os.x"}}', '{"began": "x"}', '{"began": 1e99}']
)
def test_a_damaged_record_is_a_run_of_which_nothing_is_known(store, text):
    run = store.create(lambda: "aaaa")
    run.about_file.write_text(text)
    assert (ids(store.all()), run.began, run.outcome) == (["aaaa"], 0.0, None)
    assert run.launcher.is_alive is None


def test_a_run_that_was_lost_before_it_wrote_anything_is_listed(store):
    run = add(store, "aaaa")
    assert "aaaa  lost" in "\n".join(list_of([run], 2000.0))
    assert status_of(run, 2000.0)[0].startswith("aaaa  lost")


def test_a_quiet_run_has_taken_the_time_until_now(store):
    run = add(store, "aaaa", 1000.0, this_process())
    assert as_json(run, 4600.0)["seconds"] == 3600.0


def test_what_is_no_directory_holds_no_runs(tmp_path):
    (tmp_path / "file").write_text("")
    assert Store(tmp_path / "file").all() == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can own files as somebody else")
@pytest.mark.parametrize("what", ["hers", "hers/run.json"])
def test_a_run_of_another_user_is_not_listed_and_named_as_such(store, what):
    add(store, "mine"), add(store, "hers")
    os.chown(store.root / what, 65534, -1)
    assert ids(store.all()) == ["mine"]
    assert list(store.scan()[1]) == ["hers"]
    with pytest.raises(NoSuchRun, match=r"^run hers .*another user \(nobody\)$"):
        store.find("hers")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777])
@pytest.mark.parametrize("what", ["open", "open/run.json"])
def test_a_run_that_others_can_write_is_not_listed(store, what, mode):
    add(store, "mine"), add(store, "open")
    (store.root / what).chmod(mode)
    assert ids(store.all()) == ["mine"]
    with pytest.raises(NoSuchRun, match=r"^run open .*chmod go-w"):
        store.find("open")


def test_a_link_is_no_run(store, tmp_path):
    add(Store(tmp_path / "elsewhere"), "real")
    add(store, "mine")
    (store.root / "link").symlink_to(tmp_path / "elsewhere" / "real")
    assert ids(store.all()) == ["mine"]


def test_runs_in_a_directory_where_others_can_put_some_are_not_used(store):
    add(store, "mine")
    store.root.parent.chmod(0o777)
    for use in (store.all, lambda: store.find("mine"), lambda: prune(store, 1e12, keep=0)):
        with pytest.raises(Unsafe, match=str(store.root.parent)):
            use()
    store.root.parent.chmod(0o1777)
    assert ids(store.all()) == ["mine"]


def test_a_launcher_on_another_machine_is_named_to_whom_would_control_it(store):
    run = add(store, "abcd", launcher=ELSEWHERE)
    with pytest.raises(
        NoAnswer, match="the launcher of run abcd is on another-machine: run the command there"
    ):
        ask(run, "stop")


def test_the_status_tells_where_a_run_was_started_and_from_which_commit(store):
    run = add(store, "abcd")
    run.commit_file.write_text("0123456789abcdef\n")
    found = as_json(run, now=0)
    assert (found["commit"], found["host"], found["state"]) == (
        "0123456789abcdef",
        DEAD.host,
        "unknown",
    )
    assert f"  started on {DEAD.host} in ?, commit 0123456789ab" in status_of(run, 0)
