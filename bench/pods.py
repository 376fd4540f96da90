"""One launcher against many simulated pods, each dialled through the API server."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import programs
from bench.scale import WHOLE, launch
from bench.timing import Measured, Result

SIZES = [50, 100, 200, 500, 1000]
ONE = "one launcher"


def run(sizes: Sequence[int] = SIZES, times: int = 1) -> Result:
    result = Result("pods", "pods: one launcher, N tasks in simulated pods", "N")
    result.contest({ONE: _measure}, list(sizes), times)
    if len(sizes) > 2:
        for measure in ("CPU (s)", WHOLE, "memory (MiB)"):
            exponent = result.exponent(measure, ONE, least=sizes[1])
            result.notes.append(f"growth from N = {sizes[1]} on: {measure} ~ N ** {exponent:.2f}")
    return result


def _measure(tasks: int) -> Measured:
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "bench.simulated_pods", str(tasks)]
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server,
    ):
        assert server.stdin and server.stdout
        config = _kubeconfig(Path(folder), server.stdout.readline().strip())
        flags = ["-m", "k8s://", "--image", "none"]
        environment = {**programs.ENVIRONMENT, "KUBECONFIG": str(config)}
        try:
            measured = launch(programs.tfrun(tasks, "true", flags=flags), environment)
        finally:
            server.stdin.close()
        told = json.loads(server.stdout.read())
    passed = told["calls"] + told["events"] + told["frames"]
    return {**measured, "messages a task": passed / tasks}


def _kubeconfig(folder: Path, port: str) -> Path:
    cluster = {"server": f"http://127.0.0.1:{port}"}  # what TLS takes is not ours
    path = folder / "config"
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": {"token": "t"}}],
    }
    path.write_text(json.dumps(config))
    return path
