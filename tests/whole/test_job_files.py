"""Whole runs of job files."""

import json
import os
import socketserver
import sys

import pytest

from tests.commands import lines, tfrun
from tests.ports import free_port
from tests.sentences import names

SHAPES = """
env: {A: run, B: run}
cmd: echo {job_name}:{task_index} of {worker_hosts} $A $B $RANK/$WORLD_SIZE $TF_CONFIG
jobs:
  gpu_worker: {mem: 64, task_type: worker, env: {B: job}}
  worker: {mem: 64M}
  board:
    mem: 64
    cwd: /
    cmd: [sh, -c, 'echo "$PWD" "${TF_CONFIG-no config}" "$TFMESOS_PORT"']
"""


def test_jobs_of_several_shapes_make_up_one_cluster(tmp_path):
    file = tmp_path / "job.yaml"
    file.write_text(SHAPES)
    done = tfrun(file)
    assert done.returncode == 0
    shown = dict(line.split("] ", 1) for line in lines(done.stdout))
    hosts = {}
    for name, number, b in (("[gpu_worker:0", 0, "job"), ("[worker:0", 1, "run")):
        who, _, hosts[name], *env, config = shown[name].split(" ")
        assert (who, env) == (f"worker:{number}", ["run", b, f"{number}/2"])
        assert json.loads(config) == {
            "cluster": {"worker": hosts[name].split(",")},
            "task": {"type": "worker", "index": number},
        }
    assert len(set(hosts.values())) == 1
    assert shown["[board:0"].startswith("/ no config ")


BINDS = f"""
import os, {socketserver.__name__}
address = os.environ["TFMESOS_HOST"], int(os.environ["TFMESOS_PORT"])
with socketserver.TCPServer(address, socketserver.BaseRequestHandler):
    print("bound", address[1])
"""


@pytest.mark.parametrize("is_reserved", [True, False])
def test_a_program_that_sets_no_reuseaddr_needs_a_port_that_is_not_held(tmp_path, is_reserved):
    jobs = {"worker": {"num": 2, "mem": 64, "reserve_port": is_reserved}}
    file = tmp_path / "job.json"
    file.write_text(json.dumps({"cmd": [sys.executable, "-c", BINDS], "jobs": jobs}))
    done = tfrun(file)
    assert (done.returncode == 0) is not is_reserved
    assert ("--no-reserve-port" in done.stderr) is is_reserved
    assert len(lines(done.stdout)) == (0 if is_reserved else 2)


def test_a_port_is_tried_first_and_who_cannot_have_it_says_so(tmp_path):
    port = free_port()
    file = tmp_path / "job.toml"
    file.write_text(
        f'cmd = "echo $TFMESOS_PORT"\njobs.worker = {{num = 2, mem = 64, port = {port}}}'
    )
    done = tfrun(file)
    had = {line.split("] ")[1] for line in lines(done.stdout)}
    assert str(port) in had and len(had) == 2
    (said,) = [line for line in done.stderr.splitlines() if "could not" in line]
    other = (had - {str(port)}).pop()
    assert names(said, f"port {port} (Address already in use)", f"using {other} instead")


def test_a_port_that_is_insisted_on_and_taken_fails_the_run_with_the_reason(tmp_path):
    port = free_port()
    file = tmp_path / "job.yaml"
    file.write_text(f'cmd: "true"\njobs: {{worker: {{mem: 64, port: "={port}"}}}}\nrestarts: 0\n')
    assert tfrun(file).returncode == 0
    with socketserver.TCPServer(("", port), socketserver.BaseRequestHandler):
        done = tfrun(file)
    assert done.returncode != 0
    assert f"port {port}: Address already in use" in done.stderr
    assert f"pid {os.getpid()} (" in done.stderr and "LightGBM" not in done.stderr


@pytest.mark.parametrize(
    "text, code, said",
    [
        ("jobs: {worker: {memm: 5}}", 2, "job.yaml:1: jobs.worker.memm is not a field"),
        ("jobs:\n  worker:\n    mem: 3\ncmd: x", 2, "job.yaml:3: jobs.worker.mem must be at least"),
        ("jobs: {worker: {port: 99999}}\ncmd: x", 2, "job.yaml:1: jobs.worker.port must be a port"),
        ("jobs: {worker: {env: {A: 1}}}\ncmd: x", 2, "job.yaml:1: jobs.worker.env must contain"),
        ("jobs:\n\tworker: {}", 2, "job.yaml:2: has a tab"),
        ("jobs: {worker: {}}\ncmd: x\nhang_timeout: soon", 2, "job.yaml:3: hang_timeout must be a"),
        ("cmd: x", 2, "job.yaml:1: jobs ask for no tasks"),
        ("jobs:\n worker: {}", 2, "job.yaml:2: jobs.worker.cmd is missing"),
        ("jobs: {worker: {num: 0}}\ncmd: x", 2, "job.yaml:1: jobs ask for no tasks"),
        (None, 66, "the job file cannot be read: job.yaml: No such file or directory"),
    ],
)  # fmt: skip
def test_a_bad_job_file_is_one_line_and_nothing_is_started(tmp_path, text, code, said):
    if text is not None:
        (tmp_path / "job.yaml").write_text(text)
    done = tfrun("job.yaml", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"tfrun: {said}") and done.stderr.count("\n") == 1
