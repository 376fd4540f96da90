"""Runs that are changed while they go on, on this machine."""

import asyncio
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bounds import HANG
from tests.commands import tfrun, wait_for_output
from tests.mesos.genuine.cluster import wait_until
from tests.sentences import names
from tests.whole.test_records import detached as detached
from tests.whole.test_records import directory
from tfmesos import Job, cluster
from tfmesos.errors import SpecError
from tfmesos.runs.replay import replay
from tfmesos.runs.run_files import RunDirectory

SAYS = "trap 'exit 0' TERM; echo $TFMESOS_GENERATION of $WORLD_SIZE $WORD; sleep 600 & wait"


def status(run_id):
    return json.loads(tfrun("status", run_id, "--json").stdout)


def test_a_run_grows_and_shrinks_and_keeps_its_id_and_record(detached):
    grown = tfrun("update", detached, "-w", 3, "--env", "WORD=hello", "--", SAYS)
    assert grown.returncode == 0, grown.stderr
    for word in ("worker: 2 -> 3", "worker.env: WORD", "worker.command", "generation 1 runs"):
        assert word in grown.stderr
    wait_for_output(detached, *(f"[worker:{n}] 1 of 3 hello" for n in range(3)))
    shrunk = tfrun("update", detached, "-w", 1)
    assert shrunk.returncode == 0, shrunk.stderr
    wait_for_output(detached, "[worker:0] 2 of 1 hello")
    found = status(detached)
    shapes = [one["shape"]["worker"] for one in found["generations"]]
    assert (found["generation"], shapes) == (2, [2, 3, 1])
    assert [(task["name"], task["restarts"]) for task in found["tasks"]] == [("worker:0", 0)]
    assert tfrun("logs", detached, "--generation", 2).stdout == "[worker:0] 2 of 1 hello\n"
    second = tfrun("logs", detached, "--generation", 1).stdout
    assert sorted(second.splitlines()) == [f"[worker:{n}] 1 of 3 hello" for n in range(3)]
    assert tfrun("logs", detached, "--generation", 7).returncode == 2
    lines = tfrun("status", detached).stdout
    assert "generation 1" in lines and "3 worker -> 1 worker" in lines
    assert tfrun("stop", detached).returncode == 0
    assert len(list(replay(RunDirectory(directory(detached))))) > 0


def test_the_only_run_needs_no_id(detached, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(f"jobs: {{worker: {{num: 1}}}}\ncmd: {json.dumps(SAYS)}\n")
    for words in (("-w", 1), (file,)):
        shown = tfrun("update", "--dry-run", *words)
        assert shown.returncode == 0, shown.stderr
        assert f"run {detached}" in shown.stderr and "worker: 2 -> 1" in shown.stderr
    assert "worker.command" in shown.stderr
    assert tfrun("stop", detached).returncode == 0
    none = tfrun("update", "-w", 1)
    assert none.returncode == 2 and "no run is alive" in none.stderr


def test_a_job_file_says_what_the_run_is_to_be_like(detached, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(f"jobs: {{worker: {{num: 1}}, ps: {{num: 1}}}}\ncmd: {json.dumps(SAYS)}\n")
    shown = tfrun("update", detached, file, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "worker: 2 -> 1" in shown.stderr and "ps: 0 -> 1" in shown.stderr
    assert status(detached)["generation"] == 0
    assert tfrun("update", detached, file).returncode == 0
    assert sorted(task["name"] for task in status(detached)["tasks"]) == ["ps:0", "worker:0"]


def test_a_tensorboard_that_cannot_run_holds_up_no_update(detached, tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(
        f"jobs: {{worker: {{num: 1}}, tensorboard: {{num: 1, cmd: exit 127}}}}\n"
        f"cmd: {json.dumps(SAYS)}\n"
    )
    done = tfrun("update", detached, file)
    assert done.returncode == 0, done.stderr
    assert "generation 1 runs: 1 worker, 1 tensorboard" in done.stderr
    assert tfrun("stop", detached).returncode == 0


def test_what_cannot_be_is_refused_in_one_line_and_the_run_goes_on(detached):
    for words, said in (
        ((), "needs a change"),
        (("-w", 0), "-w/--nworker"),
        (("-Cw", 0), "-Cw/--worker-cpus"),
        (("-w", "3:2"), "-w/--nworker"),
        (("-w", "2:"), "-w/--nworker"),
        (("-Ms", "2G"), "-Ms/--server-mem"),
        (("-w", 10**6), "memory"),
        (("-Gw", 4096), "8192 GPUs"),
        (("--job", "worker=x"), "--job"),
        (("--constraint", "x"), "--constraint"),
        (("--constraint", "hostname:IS:elsewhere"), "does not meet hostname:IS:elsewhere"),
        (("--constraint", "hostname:UNIQUE"), "no further host for"),
        (("--constraint", "boss=hostname:UNIQUE"), "--constraint"),
    ):
        refused = tfrun("update", detached, *words)
        assert refused.returncode in (2, 75) and said in refused.stderr, (words, refused.stderr)
        assert refused.stderr.count("\n") == 1
    same = tfrun("update", detached, "-w", 2)
    assert same.returncode == 0 and "nothing to change" in same.stderr
    found = status(detached)
    assert (found["generation"], found["phase"]) == (0, "running")
    assert tfrun("stop", detached).returncode == 0
    over = tfrun("update", detached, "-w", 3)
    assert over.returncode == 69 and f"{detached} is over" in over.stderr


def test_an_update_is_undone_and_what_was_undone_is_had_again(detached):
    none = tfrun("update", detached, "--back")
    assert (none.returncode, none.stderr.count("\n")) == (2, 1)
    assert "no update to undo" in none.stderr
    assert tfrun("update", detached, "-w", 3, "--env", "WORD=hello", "--", SAYS).returncode == 0
    both = tfrun("update", detached, "--back", "-w", 4)
    assert (both.returncode, both.stderr.count("\n")) == (2, 1) and "--back" in both.stderr
    back = tfrun("update", detached, "--back")
    assert back.returncode == 0, back.stderr
    for word in ("worker: 3 -> 2", "worker.env: WORD", "generation 2 runs: 2 worker"):
        assert word in back.stderr
    again = tfrun("update", detached, "--back")
    assert again.returncode == 0 and "worker: 2 -> 3" in again.stderr
    wait_for_output(detached, "[worker:2] 3 of 3 hello")
    assert tfrun("stop", detached).returncode == 0


WRITES = "trap 'echo wrote $TFMESOS_GENERATION; exit 0' TERM; echo up; sleep 600 & wait"


def test_a_checkpoint_is_written_by_all_and_the_run_goes_on():
    done = tfrun("--detach", "-w", 2, "--restart-policy", "all", "--", WRITES)
    run_id = done.stdout.strip()
    wait_for_output(run_id, "[worker:0] up", "[worker:1] up")
    written = tfrun("checkpoint", run_id)
    assert written.returncode == 0 and "generation 1 runs: 2 worker" in written.stderr
    lines = tfrun("logs", run_id).stdout
    assert "[worker:0] wrote 0" in lines and "[worker:1] wrote 0" in lines
    assert [task["restarts"] for task in status(run_id)["tasks"]] == [0, 0]
    assert tfrun("stop", run_id).returncode == 0


def test_a_checkpoint_of_a_run_that_restarts_nothing_is_its_end_for_now(detached):
    done = tfrun("checkpoint", detached)
    assert done.returncode == 75
    ended, why = done.stderr.splitlines()[1:]
    assert names(ended, detached, "ended", "--restart-policy all")
    assert "requested a checkpoint" in why
    assert tfrun("logs", detached, "worker:1").stdout == "begun\nstopped\n"
    late = tfrun("checkpoint", detached)
    assert late.returncode == 69 and f"{detached} is over" in late.stderr


def test_a_program_changes_its_cluster_and_has_the_new_addresses():
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with cluster([Job("worker", 1, cmd=command)], quiet=True) as c:
        old = dict(c.targets)
        assert c.update({"worker": 3}, dry_run=True) == ("worker: 1 -> 3",) and c.targets == old
        assert c.update({"worker": 3}) == ("worker: 1 -> 3",)
        assert len(c.targets) == 3
        assert c.update({"worker": 3}) == ()
        for wrong in ([Job("worker", 3)], None):
            with pytest.raises(SpecError, match=r"\{'worker': 4\}"):
                c.update(wrong)
        with pytest.raises(SpecError):
            c.update({"worker": -1})
        assert c.update(back=True) == ("worker: 3 -> 1",) and c.targets.keys() == old.keys()
        assert c.update(back=True) == ("worker: 1 -> 3",)
        assert len(c.targets) == 3


def test_of_two_updates_of_a_program_that_come_together_one_is_refused_and_none_hangs(monkeypatch):
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    submit, submitted = asyncio.run_coroutine_threadsafe, threading.Semaphore(0)

    def counted(*args):
        asked = submit(*args)
        submitted.release()
        return asked

    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", counted)
    with cluster([Job("worker", 1, cmd=command)], quiet=True) as c, ThreadPoolExecutor() as pool:
        may_go_on = threading.Event()
        c._loop.call_soon_threadsafe(may_go_on.wait)
        first = pool.submit(c.update, env={"A": "1"}, rolling=True)
        assert submitted.acquire(timeout=HANG)
        second = pool.submit(c.update, {"worker": 3})
        assert submitted.acquire(timeout=HANG)
        may_go_on.set()
        assert "being updated already" in str(second.exception(HANG))
        assert first.result(HANG) == ("worker.env: A set",)
        assert len(c.targets) == 1


def test_a_rolling_update_that_another_one_undoes_ends_with_an_error_for_who_waits_for_it():
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with cluster([Job("worker", 2, cmd=command)], quiet=True) as c, ThreadPoolExecutor() as pool:
        rolled = pool.submit(c.update, env={"A": "1"}, rolling=True)
        wait_until("it is being updated", lambda: c._run._lifecycle.generations.is_rolling)
        c.update(back=True)
        assert "undone" in str(rolled.exception(HANG))
        assert c.update({"worker": 3}) == ("worker: 2 -> 3",)
