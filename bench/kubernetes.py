"""N pods that run ``true``: tfrun against kubectl, on the cluster of the current context."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Sequence

from bench import programs
from bench.timing import Measured, Result

SIZES = [1, 8]
WHOLE = "whole command (s)"
IMAGE = os.environ.get("BENCH_IMAGE", "python:3.11-slim")
OURS = "tfmesos=bench"  # the label of the pods that kubectl makes
SIZE = {"cpu": "100m", "memory": "64Mi"}


def run(sizes: Sequence[int] = SIZES, times: int = 5) -> Result:
    result = Result("kubernetes", "kubernetes: N pods that run true", "N")
    if missing := _missing():
        result.notes.append(f"{missing}: left out")
        return result
    contestants = {"kubectl": _through_kubectl, "tfrun": _through_tfrun}
    for contestant in contestants.values():
        contestant(1)  # so that the image is there and everything is compiled
    result.contest(contestants, list(sizes), times)
    for size in sizes:
        ratio = result.ratio(WHOLE, "tfrun", "kubectl", size)
        result.aim(f"true in {size} pods: tfrun / kubectl", ratio, 1.3)
    return result


def _missing() -> str:
    if shutil.which("kubectl") is None:
        return "kubectl is not installed"
    known = subprocess.run(["kubectl", "wait", "--help"], capture_output=True, text=True).stdout
    if "jsonpath" not in known:
        return "kubectl is older than 1.23"
    if "KUBECONFIG" not in os.environ:
        return "KUBECONFIG names no cluster"
    return ""


def _through_tfrun(tasks: int) -> Measured:
    flags = ["-m", "k8s://", "--image", IMAGE, "-Cw", "0.1", "-Mw", "64"]
    start = time.perf_counter()
    programs.run(programs.tfrun(tasks, "true", flags=flags))
    return {WHOLE: time.perf_counter() - start}


def _through_kubectl(tasks: int) -> Measured:
    """From nothing to the logs of all. That the pods are deleted is not measured."""
    names = [f"bench-{number}" for number in range(tasks)]
    start = time.perf_counter()
    try:
        _kubectl("apply", "-f", "-", given=json.dumps(_pods(names)))
        done = "--for=jsonpath={.status.phase}=Succeeded"
        _kubectl("wait", done, "--timeout=300s", "pod", "--selector", OURS)
        _kubectl("logs", "--selector", OURS, "--prefix", f"--max-log-requests={tasks}")
        return {WHOLE: time.perf_counter() - start}
    finally:
        _kubectl("delete", "--now", "pod", "--selector", OURS)


def _kubectl(*words: str, given: str | None = None) -> None:
    done = subprocess.run(["kubectl", *words], input=given, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"kubectl {words[0]} exited with {done.returncode}: {done.stderr}")


def _pods(names: Sequence[str]) -> dict[str, object]:
    resources = {"requests": SIZE, "limits": SIZE}
    container = {"name": "main", "image": IMAGE, "command": ["true"], "resources": resources}
    spec = {"restartPolicy": "Never", "containers": [container]}
    key, value = OURS.split("=")
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "labels": {key: value}},
            "spec": spec,
        }
        for name in names
    ]
    return {"apiVersion": "v1", "kind": "List", "items": pods}
