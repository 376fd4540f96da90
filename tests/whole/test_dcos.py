"""The jobs of DC/OS TensorFlow's tutorials, from their options.json, on this machine."""

from __future__ import annotations

import io
import json
import re
import signal
import tarfile
import time
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.bounds import HANG
from tests.commands import (
    finish,
    lines,
    needs_tensorboard,
    needs_tensorflow,
    read_until,
    running_tfrun,
    tfrun,
)
from tests.sentences import names
from tests.web import hanging_server, web_server

QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture
def jobs():
    pytest.importorskip("numpy", reason="comes with TensorFlow")
    from tests import dcos_jobs

    return dcos_jobs


@pytest.fixture
def url(jobs):
    with web_server({"/archive/master.zip": jobs.archive()}) as server:
        yield f"{server}/archive/master.zip"


@needs_tensorflow
def test_hello_world_runs_on_workers_and_a_ps_without_a_shared_filesystem(jobs, url, tmp_path):
    context = {"greeting": "to {{name}}"}
    path = jobs.options_file(tmp_path, "hello_world", url, context=context, shared="")
    done = tfrun(path, env=QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert lines(done.stdout) == [
        f"[worker:{n}] hello from worker {n} of 3 tasks to hello_world" for n in (0, 1)
    ]


@needs_tensorflow
def test_mnist_learns_and_leaves_summaries_and_checkpoints(jobs, url, tmp_path):
    context = {"learning_rate": 0.5, "steps": 200}
    shared = tmp_path / "shared"
    path = jobs.options_file(tmp_path, "mnist", url, context=context, shared=shared)
    done = tfrun(path, env=QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.findall(r"worker \d reads (\S+) of the digits", done.stdout)
    assert len(found) == 2 and min(map(float, found)) >= 0.85
    assert list(shared.glob("events.out.tfevents.*"))
    saved = [int(re.search(r"\d+", path.name)[0]) for path in shared.glob("model.ckpt-*.index")]
    assert max(saved) >= context["steps"]  # both workers may have added a last one


@needs_tensorflow
def test_the_poets_retrain_their_model_into_the_shared_filesystem(jobs, url, tmp_path):
    jobs.make_flowers(tmp_path / "flowers")
    context = jobs.poets_context(tmp_path / "flowers", tmp_path / "models")
    shared = tmp_path / "shared"
    path = jobs.options_file(
        *(tmp_path, "poets", url),
        context=context,
        shared=shared,
        worker={"count": 1, "cpu": 1.0, "cpus": None},
        parameter_server={"count": 0},
    )
    done = tfrun(path, env=QUIET, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "[worker:0] Final test accuracy = 100.0% (N=15)" in done.stdout.splitlines()
    assert (shared / "retrained_labels.txt").read_text() == "daisy\nrose\ntulip\n"
    assert (shared / "retrained_graph.pb").stat().st_size > 100
    assert list((shared / "training_summaries").glob("events.out.tfevents.*"))


def answer_at(url):
    """The address of a TensorBoard is known some seconds before it answers there."""
    end = time.monotonic() + HANG
    while True:
        try:
            with urlopen(url) as page:
                return json.load(page)
        except OSError:
            assert time.monotonic() < end, "nobody answers"
            time.sleep(0.1)


@needs_tensorflow
@needs_tensorboard
def test_a_tensorboard_runs_beside_the_workers_and_ends_with_them(jobs, url, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    path = jobs.options_file(
        *(tmp_path, "waiting", url),
        context={},
        shared=shared,
        service={"use_tensorboard": True},
        worker={"count": 1},
        parameter_server={"count": 0},
    )
    with running_tfrun(path, cwd=tmp_path) as process:
        said = read_until(process.stderr, "TensorBoard is at ")[-1]
        address = re.search(r"http://\S+?:\d+", said)[0]
        assert answer_at(f"{address}/data/environment")["data_location"] == str(shared)
        (shared / "enough").touch()
        finish(process)
        assert process.returncode == 0


# A TensorFlow that takes no time, for what happens around it.
TENSORFLOW = """
class distribute:
    class Server:
        def __init__(self, *a, **b): pass
class compat:
    class v1:
        ConfigProto = dict
"""
SHOW = """
import os
def main(server, log_dir, context):
    place = os.environ["HADOOP_CONF_DIR"]
    print(os.path.isabs(place), open(os.path.join(place, "core-site.xml")).read())
"""


def test_a_tensorboard_that_fails_does_not_decide(tmp_path):
    code, shared = tmp_path / "code", tmp_path / "shared"
    for directory in (code, shared):
        directory.mkdir()
    (code / "tensorflow.py").write_text(TENSORFLOW)
    waiting = Path(__file__).parents[1] / "dcos_jobs" / "waiting" / "waiting.py"
    (code / "waiting.py").write_text(waiting.read_text())
    service = {"job_name": "waiting", "job_url": str(code), "shared_filesystem": str(shared)}
    size = {"count": 1, "mem": 64, "disk": 1}
    options = {
        "service": {**service, "use_tensorboard": True},
        "worker": size,
        "parameter_server": {"count": 0},
        "tensorboard": {"mem": 64},
    }
    (tmp_path / "o.json").write_text(json.dumps(options))
    nowhere = f"PATH={tmp_path}"  # there is no tensorboard, nor anything else
    with running_tfrun(tmp_path / "o.json", "--env", nowhere, cwd=tmp_path) as process:
        read_until(process.stderr, "tensorboard:0 on ", "going on without it")
        (shared / "enough").touch()
        finish(process)
        assert process.returncode == 0


def test_the_files_of_hadoop_reach_every_task(tmp_path):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as file:
        for name, text in (("show.py", SHOW), ("tensorflow.py", TENSORFLOW)):
            info = tarfile.TarInfo(name)
            info.size = len(text)
            file.addfile(info, io.BytesIO(text.encode()))
    pages = {"/core-site.xml": b"<core/>", "/hdfs-site.xml": b"<hdfs/>", "/x": content.getvalue()}
    with web_server(pages) as url:
        service = {"job_name": "show", "job_url": f"{url}/x", "hdfs": {"config_uri": url}}
        size = {"count": 1, "mem": 64, "disk": 1}
        options = {"service": service, "worker": size, "parameter_server": {**size, "count": 0}}
        (tmp_path / "o.json").write_text(json.dumps(options))
        done = tfrun("o.json", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "[worker:0] True <core/>\n"), done.stderr


def test_what_cannot_be_fetched_starts_nothing_and_exits_with_66(jobs, tmp_path):
    with web_server({}) as server:
        address = f"{server}/none.zip"
        path = jobs.options_file(tmp_path, "mnist", address, context={}, shared="")
        done = tfrun(path, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (66, "")
    assert names(done.stderr, f"tfrun: {address} cannot be fetched", "404 Not Found")


def test_an_interrupt_ends_the_wait_for_a_server_that_does_not_answer(jobs, tmp_path):
    with hanging_server() as (url, is_asked):
        path = jobs.options_file(tmp_path, "mnist", f"{url}/x.zip", context={}, shared="")
        with running_tfrun(path, cwd=tmp_path) as process:
            assert is_asked.wait(HANG)
            process.send_signal(signal.SIGINT)
            _, errors = finish(process)
    assert process.returncode == 130
    assert errors.splitlines()[-1] == "tfrun: interrupted"
