"""The library, on the embedded Mesos."""

import asyncio
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.bounds import HANG
from tests.builders import servers, workers
from tests.commands import environment
from tfmesos import Job, MasterError, SpecError, TaskFailed, cluster
from tfmesos.config.exec_limits import MAX_STRING
from tfmesos.config.units import TIME
from tfmesos.scheduler import TFMesosScheduler


@pytest.fixture(autouse=True)
def no_master_in_the_environment(monkeypatch):
    monkeypatch.delenv("MESOS_MASTER", raising=False)
    monkeypatch.delenv("DOCKER_IMAGE", raising=False)


def test_a_cluster_has_targets_and_a_cluster_def_while_the_block_lasts():
    jobs = [Job("ps", 1, cmd="sleep 60"), {"name": "worker", "num": 2, "cmd": "sleep 60"}]
    with cluster(jobs) as c:
        assert {job: len(hosts) for job, hosts in c.cluster_def.items()} == {"ps": 1, "worker": 2}
        assert c.targets == {
            "/job:ps/task:0": f"grpc://{c.cluster_def['ps'][0]}",
            "/job:worker/task:0": f"grpc://{c.cluster_def['worker'][0]}",
            "/job:worker/task:1": f"grpc://{c.cluster_def['worker'][1]}",
        }
        assert c.finished() is False
    assert c.wait().ok


def test_wait_returns_how_it_ended():
    with cluster(Job("worker", 2, cmd="true"), quiet=True) as c:
        outcome = c.wait()
        assert c.finished() is True
    assert (outcome.ok, outcome.exit_code) == (True, 0)


def test_wait_raises_the_failure_of_the_run():
    with pytest.raises(TaskFailed, match="worker:0 exited with 3"):
        with cluster(Job("worker", 1, cmd="exit 3"), quiet=True) as c:
            c.wait()
            pytest.fail("it must not go on")
    with pytest.raises(TaskFailed, match="worker:0 exited with 3"):
        c.wait()


def test_a_failure_that_was_waited_for_without_a_check_is_an_outcome_and_no_exception():
    with cluster(Job("worker", 1, cmd="echo broken; exit 7"), quiet=True) as c:
        outcome = c.wait(HANG, check=False)
    assert outcome.exit_code == 7 and outcome.cause.tail == ("broken",)
    assert isinstance(outcome.error, TaskFailed) and outcome.error.task == "worker:0"


def spin():
    while True:
        pass


@pytest.mark.parametrize(
    "busy", [lambda: time.sleep(HANG), spin, lambda: threading.Event().wait(HANG)]
)
def test_a_failure_interrupts_the_main_thread_in_the_block(busy):
    began = time.monotonic()
    with pytest.raises(TaskFailed, match="worker:0 exited with 7") as raised:
        with cluster(Job("worker", 1, cmd="exit 7"), quiet=True):
            busy()
    assert time.monotonic() - began < HANG
    assert raised.value.__cause__ is None


def test_a_failure_of_the_outer_of_two_clusters_is_raised_through_the_inner(tmp_path):
    go = tmp_path / "go"
    fails = f"until [ -e {go} ]; do sleep 0.05; done; exit 7"
    with pytest.raises(TaskFailed, match="worker:0 exited with 7"):
        with cluster(Job("worker", 1, cmd=fails), quiet=True):
            with cluster(Job("worker", 1, cmd="sleep 600"), quiet=True):
                go.touch()
                time.sleep(HANG)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_gets_lost_is_sent_again(monkeypatch):
    sent = []

    def lose_the_first(thread, number):
        sent.append(number)
        if len(sent) > 1:
            kill(thread, number)

    kill = signal.pthread_kill
    monkeypatch.setattr(signal, "pthread_kill", lose_the_first)
    with pytest.raises(TaskFailed, match="worker:0 exited with 7"):
        with cluster(Job("worker", 1, cmd="exit 7"), quiet=True):
            threading.Event().wait(HANG)
    assert sent == [signal.SIGINT, signal.SIGINT]


def test_a_failure_interrupts_nobody_who_handles_interrupts_himself():
    got = []
    before = signal.signal(signal.SIGINT, lambda *_: got.append("SIGINT"))
    try:
        with pytest.raises(TaskFailed):
            with cluster(Job("worker", 1, cmd="exit 7"), quiet=True) as c:
                c._ended.exception(HANG)
    finally:
        signal.signal(signal.SIGINT, before)
    assert got == []


def test_a_failure_in_a_block_of_another_thread_is_raised_when_the_block_is_left():
    def block():
        with cluster(Job("worker", 1, cmd="exit 7"), quiet=True) as c:
            c._ended.exception(HANG)

    with ThreadPoolExecutor(1) as pool, pytest.raises(TaskFailed, match="worker:0 exited with 7"):
        pool.submit(block).result(HANG)


def test_a_failure_that_only_another_thread_was_told_is_raised_in_the_block():
    with ThreadPoolExecutor(1) as pool, pytest.raises(TaskFailed, match="worker:0 exited with 7"):
        with cluster(Job("worker", 1, cmd="exit 7"), quiet=True) as c:
            waiting = pool.submit(c.wait, HANG, check=False)
            time.sleep(HANG)
    assert waiting.result().exit_code == 7


def test_an_interrupt_of_the_user_stays_one():
    with pytest.raises(KeyboardInterrupt):
        with cluster(Job("worker", 1, cmd="sleep 60"), quiet=True):
            signal.raise_signal(signal.SIGINT)


def test_what_went_wrong_in_the_block_after_a_failure_is_kept_as_its_consequence():
    with pytest.raises(TaskFailed) as raised:
        with cluster(Job("worker", 1, cmd="exit 7"), quiet=True) as c:
            with c._caller.main_thread.listening():
                c._ended.exception(HANG)
            raise ConnectionError("the server is gone")
    assert str(raised.value.__cause__) == "the server is gone"


def test_a_failure_is_raised_by_the_next_call():
    with cluster(Job("worker", 1, cmd="exit 7"), quiet=True) as c:
        c.wait(HANG, check=False)
        with pytest.raises(TaskFailed):
            c.finished()


def test_an_exception_in_the_block_ends_the_cluster_and_is_passed_on():
    with pytest.raises(ZeroDivisionError):
        with cluster(Job("worker", 1, cmd="sleep 60")):
            1 / 0  # noqa: B018


def test_a_timeout_of_wait_names_the_tasks_that_run_and_leaves_them_alone():
    jobs = [Job("ps", 1, cmd="sleep 60"), Job("worker", 2, cmd="sleep 60")]
    awaited = "the run has not ended after 0.01 s: still running: ps:0, worker:0, worker:1"
    with cluster(jobs, quiet=True) as c:
        with pytest.raises(TimeoutError, match=f"^{re.escape(awaited)}$"):
            c.wait(0.01)
        assert c.finished() is False


def test_a_timeout_of_wait_says_what_a_start_waits_for(tmp_path):
    jobs, initializer = Job("worker", 1, cmd="true"), {"initializer": "sleep 60"}
    with cluster(jobs, wait=False, quiet=True, extra_config=initializer) as c:
        with pytest.raises(TimeoutError, match=r"after 0 s: (it is being set up|\d of 1 tasks)"):
            c.wait(0)


def test_stop_ends_the_tasks_and_may_be_repeated():
    with cluster(Job("worker", 1, cmd="sleep 60")) as c:
        c.stop()
        c.stop()
        assert c.wait(0).ok


def test_the_scheduler_of_tfmesos_can_be_driven_by_hand():
    scheduler = TFMesosScheduler([Job(name="worker", num=1, cmd="sleep 60")], quiet=True)
    scheduler.start()
    assert list(scheduler.targets) == ["/job:worker/task:0"]
    scheduler.stop()


def test_bad_jobs_are_refused_before_anything_starts():
    with pytest.raises(SpecError, match="num must not be negative, got -1"):
        with cluster({"name": "worker", "num": -1}):
            pytest.fail("it must not start")


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"master": "a:b:c"}, "master"),
        ({"env": {"X": 1}}, "env must contain strings, got 1 for X"),
        ({"containerizer_type": "lxc"}, "containerizer_type must be MESOS or DOCKER"),
        ({"volumes": {"/a": "b"}}, "volumes must name absolute paths"),
        ({"extra_config": {"x": "y"}}, "extra_config may contain only initializer and finalizer"),
        ({"volumes": 5}, "volumes must be a dict"),
        (
            {"start_timeout": "x"},
            f"start_timeout must be {TIME}, got 'x'",
        ),
        ({"logs": ["ps"]}, "logs must be a string, got ['ps']"),
        ({"forward_addresses": {"x": 5}}, "forward_addresses must be pairs"),
        ({"forward_addresses": {"x": ("h", 65536)}}, "forward_addresses must be HOST or HOST:PORT"),
        ({"forward_addresses": {"x": ("h", -1)}}, "forward_addresses must be HOST or HOST:PORT"),
        ({"forward_addresses": {"x": ("h x", 1)}}, "forward_addresses must be HOST or HOST:PORT"),
        ({"python": 5}, "python must be a string, got 5"),
    ],
)
def test_bad_settings_name_their_field(settings, message):
    with pytest.raises(SpecError, match=re.escape(message)):
        with cluster(Job("worker", 1, cmd="true"), **settings):
            pytest.fail("it must not start")


def test_output_of_the_tasks_is_shown(capsys):
    with cluster(Job("worker", 1, cmd="echo hello $X"), env={"X": "you"}) as c:
        c.wait()
    assert capsys.readouterr().out == "[worker:0] hello you\n"


def test_a_quiet_cluster_shows_no_output_of_its_tasks(capfd):
    with cluster(Job("worker", 1, cmd="echo out; echo err >&2; exit 7"), quiet=True) as c:
        outcome = c.wait(HANG, check=False)
    assert capfd.readouterr() == ("", "")
    assert sorted(outcome.cause.tail) == ["err", "out"]


def test_a_quiet_cluster_shows_the_output_that_was_asked_for(capfd):
    jobs = [Job("ps", 1, cmd="echo ps"), Job("worker", 1, cmd="echo worker")]
    with cluster(jobs, quiet=True, logs="ps") as c:
        c.wait()
    assert capfd.readouterr() == ("[ps:0] ps\n", "")


def test_forward_addresses_get_a_copy_of_standard_output():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(HANG)
        where = {"/job:worker/task:0": listener.getsockname()}
        with cluster(
            Job("worker", 1, cmd="echo one; printf two"), forward_addresses=where, logs="none"
        ) as c:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as stream:
                assert stream.read() == b"[worker:0] one\n[worker:0] two\n"
            c.wait()


def test_two_clusters_at_once_and_one_after_another():
    for _ in range(2):
        with (
            cluster(Job("worker", 1, cmd="sleep 60")) as first,
            cluster(Job("worker", 1, cmd="sleep 60")) as second,
        ):
            assert first.targets != second.targets


def test_it_works_in_a_thread():
    outcomes = []

    def work():
        with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
            outcomes.append(c.wait())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [outcome.ok for outcome in outcomes] == [True]


def test_it_works_inside_a_running_event_loop():
    async def work():
        with cluster(Job("worker", 1, cmd="true"), quiet=True) as c:
            return c.wait()

    assert asyncio.run(work()).ok


def test_without_waiting_the_block_begins_at_once_and_the_addresses_are_waited_for(tmp_path):
    go = tmp_path / "go"
    initializer = {"initializer": f"until [ -e {go} ]; do sleep 0.02; done"}
    with cluster(Job("worker", 1, cmd="sleep 60"), wait=False, extra_config=initializer) as c:
        go.touch()
        assert list(c.targets) == ["/job:worker/task:0"]


def test_without_waiting_a_failure_comes_with_the_first_use():
    with cluster(Job("worker", 1, cmd="exit 3"), wait=False, python="/no/such", quiet=True) as c:
        with pytest.raises(TaskFailed, match="exited with 127"):
            c.targets  # noqa: B018


def test_a_scheduler_that_was_not_started_says_so():
    with pytest.raises(RuntimeError, match="has not been started yet"):
        TFMesosScheduler(Job("worker", 1, cmd="true")).targets  # noqa: B018


@pytest.mark.parametrize("_attempt", range(3))
def test_a_block_that_is_left_at_once_ends_at_once(_attempt):
    with cluster(Job("worker", 1, cmd="sleep 600"), wait=False):
        pass


def test_no_jobs_at_all_are_refused():
    with pytest.raises(SpecError, match=r"jobs must be .*, got None"):
        with cluster(None):
            pytest.fail("it must not start")


def test_what_travels_over_the_link_may_be_as_long_as_linux_takes_it():
    longest = "x" * (MAX_STRING - len("BIG="))
    show = "import os; print(len(os.environ['BIG']))"
    with cluster(Job("worker", 1, cmd=[sys.executable, "-c", show]), env={"BIG": longest}) as run:
        assert run.wait().exit_code == 0


def test_a_job_that_skips_indices_keeps_the_others():
    script = "echo {task_index} {worker_hosts} [$TF_CONFIG]"
    with cluster(Job("worker", 3, start=1, cmd=script), logs="none") as c:
        assert list(c.targets) == ["/job:worker/task:1", "/job:worker/task:2"]
        assert c.wait().ok


def test_a_program_that_forgets_to_stop_leaves_nothing_behind():
    code = (
        "from tfmesos.scheduler import Job, TFMesosScheduler\n"
        "s = TFMesosScheduler(Job('worker', 1, cmd='sleep 600'))\n"
        "s.start(); print(s.targets)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment()
    )
    assert done.returncode == 0 and "/job:worker/task:0" in done.stdout


def test_importing_tfmesos_costs_next_to_nothing():
    code = "import sys, tfmesos; print({'h11', 'asyncio', 'tensorflow'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("master", ["{}:5050", "https://{}", "{0}:1,{0}:2", "zk://{}/mesos"])
@pytest.mark.parametrize("advertise", [None, "127.0.0.1"])
def test_a_master_whose_name_does_not_exist_ends_the_run_at_once(
    monkeypatch, unknown, master, advertise
):
    """Not after 8 seconds, and even less after these."""
    monkeypatch.setattr("tfmesos.engines.mesos.setup.FIND_MASTER_WITHIN", 300.0)
    began = time.monotonic()
    with pytest.raises(MasterError, match=f"{unknown}.*: Name or service not known"):
        with cluster(
            Job("worker", 1, cmd="true"), master=master.format(unknown), advertise=advertise
        ):
            pytest.fail("there is no such master")
    assert time.monotonic() - began < 250


def test_whoever_said_how_long_to_wait_gets_the_reason_and_the_wait(unknown, capfd):
    with pytest.raises(MasterError, match="Name or service not known"):
        with cluster(Job("worker", 1, cmd="true"), master=unknown, start_timeout=2.0):
            pytest.fail("there is no such master")
    said = f"no Mesos master yet: cannot find {unknown}: Name or service not known\n"
    assert capfd.readouterr().err.count(said) == 1


def test_a_cluster_shows_its_jobs_where_it_runs_and_how_far_it_is():
    jobs = [servers(1), workers(2, cmd="sleep 60")]
    scheduler = TFMesosScheduler(jobs, quiet=True, master="local")
    assert repr(scheduler) == "<TFMesosScheduler: 1 ps, 2 worker on local, not started>"
    scheduler.start()
    assert repr(scheduler) == "<TFMesosScheduler: 1 ps, 2 worker on local, running>"
    scheduler.stop()
    assert repr(scheduler).endswith(" on local, ended with exit code 0>")
