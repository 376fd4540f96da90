"""Job files of TfJob and Marathon, run unchanged on this machine."""

from __future__ import annotations

import json
import re
import sys

import pytest
import yaml

from tests.commands import needs_tensorboard, needs_tensorflow, tfrun
from tests.jobfiles import PROGRAMS
from tests.jobfiles.marathon.groups import group
from tests.jobfiles.tfjob import tfjobs
from tests.jobfiles.tfjob.tfjobs import replica, tf_job
from tests.sentences import names

TELL = """
import os, sys
flags = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if flags["--job_name"] == "ps":
    import time
    time.sleep(3600)
workers, servers = (len(flags[name].split(",")) for name in ("--worker_hosts", "--ps_hosts"))
print(f"{flags['--job_name']} {flags['--task_index']} of {workers}, {servers} ps")
"""


@pytest.fixture
def job_file(tmp_path):
    def write(document, name="job.yaml"):
        text = json.dumps(document) if name.endswith("json") else yaml.safe_dump(document)
        (tmp_path / name).write_text(text)
        return tmp_path / name

    return write


@needs_tensorflow
def test_a_tf_job_of_the_first_version_runs_and_its_ps_need_no_program(job_file):
    file = job_file(tfjobs.example_job())
    done = tfrun(file, "--image", "", "--", sys.executable, PROGRAMS / "smoke.py")
    assert done.returncode == 0, done.stderr
    assert "[master:0] 4 tasks: 10" in done.stdout.splitlines()


@pytest.mark.parametrize("code, restarts", [(0, 0), (7, 0), (127, 0), (128, 1), (255, 1)])
def test_the_exit_code_of_the_master_decides(job_file, tmp_path, code, restarts):
    """1 to 127 is final, 128 to 255 is tried again; this one succeeds then."""
    once = f"test -e {tmp_path}/again && exit 0; touch {tmp_path}/again; exit {code}"
    file = job_file(tf_job(replica("MASTER", command=["sh", "-c", once])))
    done = tfrun(file, "--image", "")
    assert done.returncode == (0 if restarts else code), done.stderr
    assert done.stderr.count("restarting it in 1 s (restart 1)") == restarts


def test_a_worker_that_fails_is_started_again_until_the_master_ends(job_file, tmp_path):
    master = f"while [ $(wc -l < {tmp_path}/log) -lt 3 ]; do sleep 0.1; done"
    worker = f"echo >> {tmp_path}/log; exit 1"
    (tmp_path / "log").touch()
    replicas = (
        replica("MASTER", command=["sh", "-c", master]),
        replica("WORKER", command=["sh", "-c", worker]),
    )
    done = tfrun(job_file(tf_job(*replicas)), "--image", "")
    assert done.returncode == 0, done.stderr
    assert re.findall(r"worker:0 .* \(restart (\d)\)", done.stderr)[:2] == ["1", "2"]


@needs_tensorboard
def test_tensorboard_runs_beside_a_tf_job(job_file, tmp_path):
    ask = [sys.executable, str(PROGRAMS / "ask_tensorboard.py"), "{tensorboard_hosts}"]
    board = {"logDir": str(tmp_path)}
    done = tfrun(job_file(tf_job(replica("MASTER", command=ask), tensorboard=board)), "--image", "")
    assert done.returncode == 0, done.stderr
    assert "[master:0] 200 True" in done.stdout.splitlines()


@pytest.mark.parametrize(
    "job, code, said",
    [
        (tfjobs.azure_job(), 2, "spec.tensorboard.volumes[0].azureFile is a volume of Kubernetes"),
        (tfjobs.gpu_job(), 75, "the tasks ask for 1 GPUs, but this machine has 0"),
    ],
)
def test_what_this_machine_cannot_have_is_refused_with_the_reason(job_file, job, code, said):
    done = tfrun(job_file(job), "--image", "")
    assert done.returncode == code and said in done.stderr
    assert done.stderr.count("\n") == 1 and done.stdout == ""


def test_a_group_of_marathon_runs_with_the_addresses_of_this_run(job_file, tmp_path):
    file = job_file(group(train_dir=str(tmp_path)), "group.json")
    done = tfrun(file, "--", sys.executable, "-c", TELL)
    assert done.returncode == 0, done.stderr
    told = {line for line in done.stdout.splitlines() if line.startswith("[worker:")}
    assert told == {f"[worker:{n}] worker {n} of 3, 2 ps" for n in range(3)}


@pytest.mark.parametrize("format, name", [("tfjob", "job.yaml"), ("marathon", "group.json")])
def test_a_run_that_was_written_in_another_format_is_the_same_run(tmp_path, format, name):
    flags = ("-n", "one", "-w", 2, "--image", "me/train", "--env", "WHO=it's me")
    done = tfrun(*flags, f"--dry-run={format}", "--", "echo $WHO $TFMESOS_TASK_INDEX")
    assert done.returncode == 0, done.stderr
    (tmp_path / name).write_text(done.stdout)
    done = tfrun(tmp_path / name, "--image", "")
    assert done.returncode == 0 and name not in done.stderr
    assert sorted(done.stdout.splitlines()) == [f"[worker:{n}] it's me {n}" for n in (0, 1)]


def test_what_the_format_has_no_word_for_is_named_by_its_flag():
    done = tfrun("-w", 1, "-n", "a", "--hang-timeout", 5, "--dry-run=marathon", "--", "x")
    assert (done.returncode, done.stdout) == (2, "")
    problem = "--hang-timeout cannot be expressed in a Marathon group: leave it out"
    assert done.stderr == f"tfrun: {problem}\n"


def test_a_container_without_a_command_needs_one_by_name(job_file):
    done = tfrun(job_file(tfjobs.example_job()), "--image", "")
    assert done.returncode == 2
    key = "spec.replicaSpecs[0].template.spec.containers[0].command"
    assert re.match(rf"tfrun: \S+/job.yaml:\d+: {re.escape(key)} is missing", done.stderr)
    assert names(done.stderr, key, "no image", "in the file", "--")


def test_where_docker_cannot_be_asked_the_command_must_be_named(job_file):
    env = {"DOCKER_HOST": "unix:///nonexistent/docker.sock"}
    done = tfrun(job_file(tfjobs.example_job()), env=env)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert names(done.stderr, f"{tfjobs.IMAGE}: ")
