"""The metrics of a run are what Prometheus reads, whole at any time, and true."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tests.bounds import HANG
from tests.mesos.genuine.conftest import unavailable
from tests.sentences import names
from tfmesos.core.events import TaskReady
from tfmesos.launcher.links.usage import Gpu, Usage
from tfmesos.runs.metrics_file import MetricsFile, metrics_text
from tfmesos.runs.status import RunStatus, TaskStatus

MIB = 1024 * 1024
TASKS = {
    "ps:0": TaskStatus("ps:0", "ps", state="waiting"),
    "worker:0": TaskStatus("worker:0", "worker", state="running", restarts=2),
    "worker:1": TaskStatus("worker:1", "worker", state="failed"),
}
USAGES = {
    "worker:0": Usage(187.5, 64 * MIB, (Gpu(93, 5 * MIB, 9 * MIB), Gpu(None, None, None))),
    "worker:1": Usage(1.0, 1),  # it does not run any more
}


def checked(text):
    """By Prometheus itself."""
    if not shutil.which("promtool"):
        unavailable("promtool is not installed (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=HANG
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return {line for line in text.splitlines() if not line.startswith("#")}


def test_prometheus_reads_what_a_run_tells():
    text = metrics_text("k7xq", RunStatus(tasks=TASKS), USAGES, {"worker:0": 12}, None)
    assert {
        'tfmesos_run_running{run="k7xq"} 1',
        'tfmesos_tasks{run="k7xq",job="worker",state="running"} 1',
        'tfmesos_tasks{run="k7xq",job="worker",state="failed"} 1',
        'tfmesos_tasks{run="k7xq",job="ps",state="running"} 0',
        'tfmesos_task_restarts_total{run="k7xq",task="worker:0"} 2',
        'tfmesos_task_lines_total{run="k7xq",task="worker:0"} 12',
        'tfmesos_task_cpu_cores{run="k7xq",task="worker:0"} 1.875',
        'tfmesos_task_memory_bytes{run="k7xq",task="worker:0"} 67108864',
        'tfmesos_task_gpu_busy_ratio{run="k7xq",task="worker:0",gpu="0"} 0.93',
        'tfmesos_task_gpu_memory_bytes{run="k7xq",task="worker:0",gpu="0"} 5242880',
    } < (lines := checked(text))
    assert not any("exit_code" in line or 'gpu="1"' in line for line in lines)
    assert not any("memory" in line and "worker:1" in line for line in lines)


def test_prometheus_reads_the_end_of_a_run_and_of_one_without_tasks():
    text = metrics_text("k7xq", RunStatus(), {}, {}, 3)
    ended = {'tfmesos_run_running{run="k7xq"} 0', 'tfmesos_run_exit_code{run="k7xq"} 3'}
    assert checked(text) == ended


def test_a_label_may_hold_anything():
    task = TaskStatus('a"b\\c\n:0', 'a"b\\c\n', state="running")
    checked(metrics_text("k7xq", RunStatus(tasks={task.name: task}), {}, {}, None))


def test_the_file_is_there_at_once_and_has_the_end_when_it_is_closed(tmp_path):
    path = tmp_path / "run.prom"
    complaints = []
    file = MetricsFile(str(path), "k7xq", complaints.append)
    assert checked(path.read_text()) == {'tfmesos_run_running{run="k7xq"} 1'}
    file.happened(TaskReady("k7xq-nobody-0-1"), 1.0)  # a task that nobody knows
    file.close(0)
    assert 'tfmesos_run_exit_code{run="k7xq"} 0' in checked(path.read_text())
    assert [one.name for one in tmp_path.iterdir()] == ["run.prom"] and complaints == []


def test_a_file_that_cannot_be_written_is_an_error_at_first_and_a_warning_later(tmp_path):
    with pytest.raises(OSError, match="No such file"):
        MetricsFile(str(tmp_path / "none" / "run.prom"), "k7xq", print)
    place = tmp_path / "there"
    place.mkdir()
    complaints = []
    file = MetricsFile(str(place / "run.prom"), "k7xq", complaints.append)
    shutil.rmtree(place)
    file.close(0)
    (said,) = complaints
    assert names(said, "no more metrics", f"{place / 'run.prom'}: No such file or directory")
