"""tfrun --entry: a function with a real TensorFlow server of its own, and a ps beside it."""

from __future__ import annotations

import json

import pytest

from tests.commands import lines, needs_tensorflow, tfrun
from tests.sentences import begins
from tfmesos import Job, TaskFailed, TFMesosScheduler

# Each worker adds its number on the ps. A session that sees the other worker fails if that one
# has ended by then.
TRAIN = """
import os
import tensorflow as tf

def main(server, log_dir, context):
    index = server.server_def.task_index
    with tf.Graph().as_default(), tf.device("/job:ps/task:0"):
        number = tf.constant(context["number"]) + index
        near = ["/job:ps", "/job:worker/task:%d" % index]
        config = tf.compat.v1.ConfigProto(device_filters=near)
        with tf.compat.v1.Session(server.target, config=config) as session:
            print(server.server_def.job_name, index, session.run(number))
    open(os.path.join(log_dir, "worker-%d" % index), "w").close()
"""


@needs_tensorflow
def test_a_function_computes_on_the_ps_of_its_run(tmp_path):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "context.json").write_text(json.dumps({"number": 40}))
    given = ("--entry", "train:main", "--context", "context.json", "--log-dir", "logs")
    env = {"TF_CPP_MIN_LOG_LEVEL": "3"}
    done = tfrun("-w", 2, "-s", 1, *given, cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == ["[worker:0] worker 0 40", "[worker:1] worker 1 41"]
    made = sorted(file.name for file in (tmp_path / "logs").iterdir())
    assert made == ["worker-0", "worker-1"]


@pytest.mark.parametrize("more", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_missing_function_is_one_line_of_its_task_and_exit_code_2(tmp_path, more):
    (tmp_path / "train.py").write_text("")
    done = tfrun("-w", 1, "--entry", "train:main", *more, cwd=tmp_path)
    assert done.returncode == 2
    assert "tfmesos: entry train:main: the module train has no" in done.stderr


def test_a_function_can_be_called_from_python_too(tmp_path, capfd):
    settings = {"entry": "train:main", "cwd": str(tmp_path), "quiet": True}
    scheduler = TFMesosScheduler(Job("worker", 1), **settings)
    with pytest.raises(TaskFailed, match="worker:0 exited with 2"):
        scheduler.start()
        scheduler.wait()
    scheduler.stop()


@pytest.mark.parametrize(
    "args, problem",
    [
        (("--entry", "train"), "--entry ... MODULE:FUNCTION, ... got 'train'"),
        (
            ("--entry", "a:b", "--", "x"),
            "--entry and a command are mutually exclusive",
        ),
        (("--entry", "a:b", "--context", "{1"), "--context must be a JSON object: Expecting prop"),
        (("--entry", "a:b", "--context", "[1]"), "--context must be a JSON object, got [1]"),
        (("--context", "{}", "--", "x"), "--context ... only with entry"),
        (("--log-dir", "x", "--", "x"), "--log-dir ... only with entry"),
    ],
)
def test_wrong_values_are_one_line_and_nothing_is_started(args, problem):
    done = tfrun("-w", 1, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert begins(done.stderr, f"tfrun: {problem}") and done.stderr.count("\n") == 1
