"""The wrapper of --entry: what it calls, what it says, and that no tfmesos is needed for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tfmesos.node import entry
from tfmesos.node.own_modules import with_text

# A TensorFlow that takes no time. Its server keeps what it is made of.
TENSORFLOW = """
class distribute:
    class Server:
        def __init__(self, *args, **more): self.made = [args, more]
        @classmethod
        def create_local_server(cls, **more): return cls("alone", **more)
class compat:
    class v1:
        ConfigProto = dict
"""
TRAIN = """
import argparse, sys
argparse.ArgumentParser().parse_args()
def main(server, log_dir, context):
    print(server.made, log_dir, context, sys.argv)
def end(server, log_dir, context):
    sys.exit(7)
def few(server, log_dir): pass
def more(server, log_dir, context, steps): pass
number = 1
"""
DEVICES = {"device_count": {"CPU": 2, "GPU": 1}}
CLUSTER = {"worker": ["h1:1", "h2:2"], "ps": ["h3:3"]}


def call(tmp_path, target, job="worker", index=1, **variables):
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "tensorflow.py").write_text(TENSORFLOW)
    (tmp_path / "asks.py").write_text("import of_nobody")
    argv = with_text([sys.executable, "-m", "tfmesos.node.entry", target])
    config = json.dumps({"cluster": CLUSTER, "task": {"type": job, "index": index}})
    usual = {"TFMESOS_CONTEXT": "{}", "TFMESOS_LOG_DIR": "", "TFMESOS_PROTOCOL": "grpc"}
    usual |= {"TFMESOS_CPUS": "2.5", "TFMESOS_GPUS": "1"}
    env = {"PATH": os.environ["PATH"], "TF_CONFIG": config, **usual, **variables}
    return subprocess.run(
        argv, cwd=tmp_path, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def test_the_function_gets_the_server_the_log_dir_and_the_context(tmp_path):
    logs = tmp_path / "a" / "logs"
    context = json.dumps({"steps": 3, "out": ["{{log_dir}}/x", {"y": "{{shared_filesystem}}/y"}]})
    done = call(tmp_path, "train:main", TFMESOS_LOG_DIR=str(logs), TFMESOS_CONTEXT=context)
    assert (done.returncode, done.stderr) == (0, "")
    cluster = {"worker": {0: "h1:1", 1: "h2:2"}, "ps": {0: "h3:3"}}
    task = {"job_name": "worker", "task_index": 1, "protocol": "grpc", "config": DEVICES}
    told = {"steps": 3, "out": [f"{logs}/x", {"y": f"{logs}/y"}]}
    assert done.stdout == f"{[(cluster,), task]} {logs} {told} ['train']\n"
    assert logs.is_dir()


def test_an_evaluator_has_a_server_alone_for_it_is_in_no_cluster(tmp_path):
    done = call(tmp_path, "train:main", job="evaluator", index=0, MESOS_SANDBOX=str(tmp_path))
    assert done.stdout == f"[('alone',), {{'config': {DEVICES}}}] {tmp_path}/logs {{}} ['train']\n"


def test_a_module_may_lie_in_a_directory_and_a_url_is_not_made(tmp_path):
    (tmp_path / "deep" / "er").mkdir(parents=True)
    (tmp_path / "deep" / "er" / "job.py").write_text("import near\nmain = near.main")
    (tmp_path / "deep" / "er" / "near.py").write_text(TRAIN)
    done = call(tmp_path, "deep/er/job:main", TFMESOS_LOG_DIR="hdfs://default/x")
    assert done.stdout.endswith(" hdfs://default/x {} ['deep/er/job']\n")
    assert not list(tmp_path.glob("hdfs*"))


@pytest.mark.parametrize(
    "target, words",
    [
        ("nothing:main", "there is no module nothing in {} or on PYTHONPATH"),
        ("no/where:main", "there is no module where in no or on PYTHONPATH"),
        ("train.sub:main", "there is no module train.sub in {} or on PYTHONPATH"),
        ("train:nothing", "the module train has no function nothing"),
        ("train:number", "the module train has no function number"),
        (
            "train:few",
            "it cannot be called as few(server, log_dir, context): too many positional arguments",
        ),
        (
            "train:more",
            "it cannot be called as more(server, log_dir, context): "
            "missing a required argument: 'steps'",
        ),
    ],
)
def test_a_function_that_cannot_be_called_is_one_line_and_exit_code_2(tmp_path, target, words):
    done = call(tmp_path, target)
    line = f"tfmesos: entry {target}: {words.format(tmp_path)}\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_a_module_that_misses_another_one_shows_its_own_traceback(tmp_path):
    done = call(tmp_path, "asks:main")
    assert done.returncode == 1
    assert done.stderr.endswith("ModuleNotFoundError: No module named 'of_nobody'\n")


def test_a_log_directory_that_cannot_be_made_is_one_line_and_exit_code_74(tmp_path):
    done = call(tmp_path, "train:main", TFMESOS_LOG_DIR="/proc/logs")
    line = "tfmesos: cannot make the log directory /proc/logs: No such file or directory\n"
    assert (done.returncode, done.stderr) == (74, line)


def test_the_function_ends_its_task_as_it_likes(tmp_path):
    assert call(tmp_path, "train:end").returncode == 7


def test_the_wrapper_hides_no_tfmesos_from_the_function(tmp_path):
    (tmp_path / "tfmesos.py").write_text("mine = 1")
    (tmp_path / "uses.py").write_text("import tfmesos\ndef main(*a): print(tfmesos.mine)")
    done = call(tmp_path, "uses:main")
    assert (done.returncode, done.stdout) == (0, "1\n")


def test_other_commands_are_executed_as_they_are():
    argv = ["python", "-m", "train", "train:main"]
    assert with_text(argv) is argv


def test_texts_that_name_no_directory_are_left_alone():
    value = {"a": ["{{other}}", 1, None, True]}
    assert entry.filled(value, "/logs") == value


def test_a_relative_directory_of_hadoop_is_one_in_the_directory_of_the_task(tmp_path):
    (tmp_path / "conf").mkdir()
    (tmp_path / "shows.py").write_text(
        "import os\ndef main(*a): print(os.environ['HADOOP_CONF_DIR'])"
    )
    for given, seen in (("conf", f"{tmp_path}/conf"), ("/opt/none", "/opt/none")):
        assert call(tmp_path, "shows:main", HADOOP_CONF_DIR=given).stdout == f"{seen}\n"
