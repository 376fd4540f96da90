"""TensorBoard beside a training: it shows what that writes, and decides about nothing."""

import json
import os
import re
import signal
import sys
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.bounds import HANG
from tests.browser import until, until_text
from tests.commands import lines, needs_tensorflow, read_until, running_tfrun, tfrun

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
        (*_, last) = read_until(run.stderr, "TensorBoard stays at ")
        assert "tfrun: the run has succeeded; TensorBoard stays at http://127.0.0.1:" in last
        address = re.search(r"http://\S+", last)[0]
        assert status()["tensorboard"] == [address]
        until(browser, lambda: status()["jobs"]["worker"]["succeeded"] == 1)  # it is written later
        until(browser, lambda: has_read_the_loss(address))
        browser.get(f"{address}/#timeseries")  # which asks once for what there is
        until_text(browser, "epoch_loss")
        run.send_signal(signal.SIGINT)
        assert run.wait(HANG) == 0
    assert tfrun("status").stdout.splitlines()[0].split()[1] == "succeeded"


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
    assert re.search(r"^tfrun: TensorBoard is at http://127.0.0.1:\d+$", done.stderr, re.M)
    found = [json.loads(line.partition(" ")[2]) for line in done.stdout.splitlines()]
    assert [list(config["cluster"]) for config in found] == [["worker"]] * 2


def test_a_run_goes_on_without_one_that_is_not_installed(tmp_path):
    flags = ("-w", 1, "--python", "/usr/bin/python3", "--tensorboard", tmp_path)
    done = tfrun(*flags, "--", "sleep 12; echo trained", env={"PATH": "/usr/bin:/bin"})
    assert (done.returncode, done.stdout) == (0, "[worker:0] trained\n"), done.stderr
    assert "tensorboard:0 on " in done.stderr
    assert re.search(r"exited with 127.*; going on without it$", done.stderr, re.M)


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
        (("--tensorboard-stays",), "--tensorboard-stays needs a TensorBoard, and there is none"),
        (
            ("--tensorboard", "x", "--job", "tensorboard=1"),
            "--tensorboard and a job of the name tensorboard exclude each other: give one of them",
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
    assert done.stderr == (
        "tfrun: job.yaml:1: tensorboard must be the directory of its events, or {logdir: DIR}, "
        "got {'dir': 'x'}\n"
    )
    assert os.listdir(tmp_path) == ["job.yaml"]
