"""TensorBoard beside a training: it shows what that writes, and decides about nothing."""

import json
import os
import re
import signal
import sys
import time
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.bounds import HANG
from tests.browser import until, until_text
from tests.commands import (
    finish,
    lines,
    needs_tensorflow,
    read_until,
    running_tfrun,
    standing_mesos,
    tfrun,
)
from tests.ports import offered_ports
from tests.sentences import names

from .boards import announced, job_file, page, running_board

TRAIN = """
import tensorflow as tf
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(loss="mse")
model.fit(
    tf.ones((8, 1)), tf.ones((8, 1)), epochs=3, verbose=0,
    callbacks=[tf.keras.callbacks.TensorBoard("events", write_graph=False)],
)
"""


@needs_tensorflow
def test_the_loss_of_a_training_is_on_it_and_it_stays_until_ctrl_c(tmp_path, browser):
    (tmp_path / "train.py").write_text(TRAIN)
    flags = ("-w", 1, "--tensorboard", "events", "--tensorboard-stays", "--logs", "none")
    with running_tfrun(*flags, "--", sys.executable, "train.py", cwd=tmp_path) as run:
        (*_, last) = read_until(run.stderr, "TensorBoard is at ")
        address = re.search(r"http://\S+", last)[0]
        urlopen(address).close()  # it answers when that is said
        until(browser, lambda: status()["tensorboard"] == [address])  # it is written down
        until(browser, lambda: status()["jobs"]["worker"]["succeeded"] == 1)
        until(browser, lambda: has_read_the_loss(address))
        browser.get(f"{address}/#timeseries")  # which asks once for what there is
        until_text(browser, "epoch_loss")
        run.send_signal(signal.SIGINT)
        assert run.wait(HANG) == 0
    assert tfrun("status").stdout.splitlines()[0].split()[1] == "succeeded"


BOARD = """import http.server, os, time
while not os.path.exists("go"):
    time.sleep(0.05)
where = (os.environ["TFMESOS_HOST"], int(os.environ["TFMESOS_PORT"]))
with http.server.HTTPServer(where, http.server.SimpleHTTPRequestHandler) as server:
    server.timeout = 0.05
    while not os.path.exists("end"):
        server.handle_request()
"""
JOB = """tensorboard_stays: {stays}
stop_grace: 600
jobs:
  worker: {{num: 1, cmd: "until [ -e done ]; do sleep 0.05; done"}}
  tensorboard: {{num: 1, cmd: "{trap} exec {python} board.py"}}
"""


def write_job(place, *, stays, trap=""):
    (place / "board.py").write_text(BOARD)
    (place / "job.yaml").write_text(JOB.format(stays=stays, trap=trap, python=sys.executable))


def test_it_is_announced_when_it_answers_and_what_stays_is_said_by_status_and_wait(tmp_path):
    write_job(tmp_path, stays="true")
    with running_tfrun("job.yaml", cwd=tmp_path) as run:
        (tmp_path / "done").touch()
        before = read_until(run.stderr, "TensorBoard is starting and stays")
        assert not any("http://" in line for line in before) and status()["tensorboard"] == []
        (tmp_path / "go").touch()
        (*_, last) = read_until(run.stderr, "TensorBoard is at ")
        address = re.search(r"http://\S+", last)[0]
        urlopen(address).close()
        run_id = status()["id"]
        with running_tfrun("wait", run_id) as waiting:
            (*_, kept) = read_until(waiting.stderr, "TensorBoard stays at ")
            assert address in kept and "all other tasks have ended" in kept
            assert kept.partition(": ")[2].partition(": ")[2] in tfrun("status").stdout
            assert status()["phase"] == "running"
            assert tfrun("stop", run_id).returncode == 0
            assert waiting.wait(HANG) == 0


def test_one_that_is_slow_to_end_does_not_keep_a_finished_run_running(tmp_path):
    write_job(tmp_path, stays="false", trap="trap '' TERM;")
    with running_tfrun("job.yaml", cwd=tmp_path) as run:
        (tmp_path / "go").touch()
        read_until(run.stderr, "TensorBoard is at ")
        (tmp_path / "done").touch()
        end = time.monotonic() + HANG
        while status()["phase"] == "running" and time.monotonic() < end:
            time.sleep(0.1)
        found = status()
        assert (found["phase"], found["why"]) == ("stopping", "all other tasks have ended")
        (tmp_path / "end").touch()
        assert run.wait(HANG) == 0


@pytest.fixture(scope="module")
def mesos():
    with standing_mesos(f"--resources=cpus:8;mem:8192;{offered_ports()}") as url:
        yield url.removeprefix("http://")


def test_it_is_found_at_the_address_of_its_node_if_it_is_to_be_public(mesos, tmp_path):
    flags = ("-m", mesos, "--tensorboard-public", "--advertise", "127.0.0.2")
    with running_board(*flags, place=tmp_path) as (address, listens_at):
        assert address == listens_at


def test_it_stays_at_its_address_when_it_is_started_again_and_when_another_launcher_goes_on(
    mesos, tmp_path
):
    with running_tfrun(job_file(tmp_path), "-m", mesos, "--survive", "2m") as launcher:
        address = announced(launcher)
        assert tfrun("restart", status()["id"], "tensorboard:0").returncode == 0
        assert announced(launcher) == address
        launcher.kill()
        launcher.wait()
    with running_tfrun("adopt", status()["id"]) as successor:
        until_answer(lambda: page(address))
        assert status()["tensorboard"] == [f"http://{address}"]
        (tmp_path / "done").touch()
        assert successor.wait(HANG) == 0, successor.stderr.read()


def until_answer(ask):
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        try:
            return ask()
        except OSError:
            time.sleep(0.1)
    return ask()


def status():
    return json.loads(tfrun("status", "--json").stdout)


def has_read_the_loss(address):
    """Does it listen, and know of the training?"""
    try:
        with urlopen(f"{address}/data/plugin/scalars/tags") as answer:
            return b"epoch_loss" in answer.read()
    except URLError:
        return False


def test_it_is_in_no_tf_config_and_its_output_is_only_shown_when_asked_for(tmp_path):
    show = 'echo "$TF_CONFIG"'
    done = tfrun("-w", 2, "--tensorboard", tmp_path, "--", show, cwd=tmp_path)
    assert done.returncode == 0
    assert "[tensorboard:0]" not in done.stdout + done.stderr
    found = [json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines()]
    assert [list(config["cluster"]) for config in found] == [["worker"]] * 2


def test_a_run_goes_on_without_one_that_is_not_installed(tmp_path, monkeypatch):
    go = tmp_path / "go"
    flags = ("-w", 1, "--python", "/usr/bin/python3", "--tensorboard", tmp_path)
    train = f"until [ -e {go} ]; do sleep 0.05; done; echo trained"
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with running_tfrun(*flags, "--", train) as run:
        (*_, last) = read_until(run.stderr, "; going on without it")
        go.touch()
        out, err = finish(run)
    assert (run.returncode, out) == (0, "[worker:0] trained\n"), err
    assert "tensorboard:0 on " in last and "exited with 127" in last
    assert "pip install tensorboard" in last


def test_a_job_file_has_a_word_for_it(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(
        "tensorboard: {logdir: events}\ntensorboard_stays: true\n"
        "jobs: {worker: {num: 1, cmd: 'true'}}\n"
    )
    shown = tfrun(file, "--dry-run=mesos", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    said = tfrun(file, "--dry-run", cwd=tmp_path).stdout
    assert "tensorboard" in said


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--tensorboard-stays",), "--tensorboard-stays needs a run with TensorBoard"),
        (
            ("--tensorboard", "x", "--job", "tensorboard=1"),
            "--tensorboard and a job named tensorboard are mutually exclusive: give only one",
        ),
    ],
)
def test_what_cannot_be_is_refused(flags, words):
    done = tfrun("-w", 1, *flags, "--", "true")
    assert (done.returncode, lines(done.stderr)) == (2, [f"tfrun: {words}"])


def test_a_wrong_word_in_a_job_file_is_named(tmp_path):
    (tmp_path / "job.yaml").write_text(
        "tensorboard: {dir: x}\njobs: {worker: {num: 1, cmd: 'true'}}\n"
    )
    done = tfrun("job.yaml", cwd=tmp_path)
    assert done.returncode == 2
    parts = ("tfrun: job.yaml:1: tensorboard", "{logdir: DIR}", "{'dir': 'x'}")
    assert names(done.stderr, *parts)
    assert os.listdir(tmp_path) == ["job.yaml"]
