"""A file with the metrics of a run, in the text format of Prometheus."""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ..core.actions import Mark
from ..core.events import Event
from ..launcher.deciders import Beginning
from ..launcher.links.usage import Usage
from ..launcher.observer import Counted, Observer
from .status import Reader, RunStatus, TaskStatus

WRITE_EVERY = 10.0  # seconds
CLOSE_WITHIN = 10.0  # seconds for the disk to take the last state

Sample = tuple[Mapping[str, str], float]  # its labels, and the value

_ALWAYS = ("waiting", "starting", "running", "succeeded", "failed", "stopped")


def metrics_text(
    run_id: str,
    status: RunStatus,
    usages: Mapping[str, Usage],
    lines: Mapping[str, int],
    exit_code: int | None,
) -> str:
    """*exit_code* is None until the run has ended."""
    tasks = list(status.tasks.values())
    used = [(task, usages[task.name]) for task in tasks if _is_measured(task, usages)]
    ended: list[Sample] = [] if exit_code is None else [({}, exit_code)]
    metrics: tuple[tuple[str, str, str, Iterable[Sample]], ...] = (
        ("run_running", "gauge", "1 until the run has ended", [({}, float(exit_code is None))]),
        ("run_exit_code", "gauge", "exit code of the run", ended),
        ("tasks", "gauge", "tasks of a job in a state", _states(status)),
        ("task_restarts_total", "counter", "restarts", ((_of(t), t.restarts) for t in tasks)),
        (
            "task_lines_total",
            "counter",
            "lines of output",
            ((_of(task), lines.get(task.name, 0)) for task in tasks),
        ),
        ("task_cpu_cores", "gauge", "cores in use", ((_of(t), u.cpu / 100) for t, u in used)),
        ("task_memory_bytes", "gauge", "resident memory", ((_of(t), u.memory) for t, u in used)),
        ("task_gpu_busy_ratio", "gauge", "time in which a GPU is busy", _gpus(used, "busy", 100)),
        ("task_gpu_memory_bytes", "gauge", "memory in use on a GPU", _gpus(used, "used", 1)),
    )
    return "".join(_metric(run_id, *metric) for metric in metrics)


def _metric(run_id: str, name: str, kind: str, words: str, samples: Iterable[Sample]) -> str:
    shown = "".join(
        f"tfmesos_{name}{_labels({'run': run_id, **labels})} {value:.10g}\n"
        for labels, value in samples
    )
    head = f"# HELP tfmesos_{name} {words}\n# TYPE tfmesos_{name} {kind}\n"
    return f"{head}{shown}" if shown else ""


def _labels(labels: Mapping[str, str]) -> str:
    pairs = (f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{','.join(pairs)}}}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _of(task: TaskStatus) -> dict[str, str]:
    return {"task": task.name}


def _states(status: RunStatus) -> Iterator[Sample]:
    for job, states in status.counts().items():
        for state in dict.fromkeys([*_ALWAYS, *states]):
            yield {"job": job, "state": state}, states.get(state, 0)


def _is_measured(task: TaskStatus, usages: Mapping[str, Usage]) -> bool:
    return task.state == "running" and task.name in usages


def _gpus(used: Iterable[tuple[TaskStatus, Usage]], field: str, unit: int) -> Iterator[Sample]:
    for task, usage in used:
        for number, gpu in enumerate(usage.gpus):
            if (value := getattr(gpu, field)) is not None:
                yield {**_of(task), "gpu": str(number)}, value / unit


class MetricsFile(Observer):
    """Written every few seconds by a thread: a slow disk stops no run."""

    def __init__(self, path: str, run_id: str, complain: Callable[[str], object]) -> None:
        """OSError if it cannot be written."""
        self._path = path
        self._run_id = run_id
        self._complain = complain
        self._reader = Reader()
        self._usages: dict[str, Usage] = {}
        self._lines: Counter[str] = Counter()
        self._exit_code: int | None = None
        self._lock = threading.Lock()  # for all of these
        self._is_over = threading.Event()
        self._replace(self._text())
        self._thread = threading.Thread(target=self._write_on, name="metrics", daemon=True)
        self._thread.start()

    def begun(self, beginning: Beginning) -> None:
        self._take(beginning, beginning.at)

    def happened(self, event: Any, now: float) -> None:
        self._take(event, now)

    def told(self, event: Event | Mark, now: float) -> None:
        self._take(event, now)

    def _take(self, event: Any, now: float) -> None:
        with self._lock, suppress(ValueError, LookupError):  # of tasks that nobody knows
            self._reader.take(event, now)

    def written(
        self, task: str, stream: str, text: str, dropped: int, counted: Counted | None = None
    ) -> None:
        with self._lock:
            self._lines[task] += text.count("\n") + dropped

    def measured(self, task: str, usage: Usage) -> None:
        with self._lock:
            self._usages[task] = usage

    def close(self, exit_code: int) -> None:
        with self._lock:
            self._exit_code = exit_code
        self._is_over.set()
        self._thread.join(CLOSE_WITHIN)

    def _write_on(self) -> None:
        is_over = False
        while not is_over:
            is_over = self._is_over.wait(WRITE_EVERY)
            try:
                self._replace(self._text())
            except OSError as error:
                self._complain(f"no more metrics are written to {self._path}: {error.strerror}")
                return

    def _text(self) -> str:
        with self._lock:
            status = self._reader.status
            return metrics_text(self._run_id, status, self._usages, self._lines, self._exit_code)

    def _replace(self, text: str) -> None:
        """Readers see the old file or the new one, never a part."""
        new = f"{self._path}.{os.getpid()}.tmp"
        try:
            with open(new, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(new, self._path)
        except OSError:
            with suppress(OSError):
                os.unlink(new)
            raise
