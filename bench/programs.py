"""The programs that are measured: tfrun and what it is compared with."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

TFRUN = str(Path(sys.executable).with_name("tfrun"))
# As pip leaves an installed package: compiled. Some environments forbid that.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["OMP_NUM_THREADS"] = "1"
LIMIT = 900  # seconds; what takes longer hangs


def tfrun(tasks: int, *command: str, flags: Sequence[str] = ()) -> list[str]:
    return [TFRUN, "-w", str(tasks), *flags, "--", *command]


def mpirun(tasks: int, *command: str) -> list[str]:
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(tasks), *command]


def torchrun(tasks: int, logs: str, *command: str) -> list[str]:
    """It would leave its *logs* in /tmp."""
    flags = [f"--nproc-per-node={tasks}", f"--log-dir={logs}", "--no-python"]
    return [str(torchrun_path()), *flags, *command]


def torchrun_path() -> str | None:
    """BENCH_TORCHRUN, the one of ``make torch``, or any."""
    own = Path(__file__).parent / ".torch" / "bin" / "torchrun"
    found = str(own) if own.exists() else shutil.which("torchrun")
    return os.environ.get("BENCH_TORCHRUN") or found


def has_tensorflow() -> bool:
    return importlib.util.find_spec("tensorflow") is not None


def run(argv: Sequence[str]) -> None:
    try:
        done = subprocess.run(argv, env=ENVIRONMENT, capture_output=True, timeout=LIMIT)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"{argv[0]} did not end within {LIMIT} s") from None
    if done.returncode:
        words = done.stderr.decode(errors="replace")[-2000:]
        raise RuntimeError(f"{argv[0]} exited with {done.returncode}: {words}")


def run_torchrun(tasks: int, *command: str) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as logs:
        run(torchrun(tasks, logs, *command))


def loop(tasks: int, *command: str) -> None:
    """The same processes from a loop, as of a shell: the floor."""
    nothing = subprocess.DEVNULL
    processes = [subprocess.Popen(command, env=ENVIRONMENT, stderr=nothing) for _ in range(tasks)]
    if any([process.wait() for process in processes]):
        raise RuntimeError(f"{command} failed")


class Marks:
    """Moments that processes note, each in a file of its own."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def noting(self, before: str = "", after: str = "") -> list[str]:
        """A Python command that notes the moment between *before* and *after*."""
        note = (
            f"import os,time;open('{self.directory}/%d'%os.getpid(),'w').write(repr(time.time()))"
        )
        return [sys.executable, "-c", ";".join(filter(None, [before, note, after]))]

    def moments(self) -> list[float]:
        texts = [Path(self.directory, name).read_text() for name in os.listdir(self.directory)]
        return [float(text) for text in texts if text]

    def wait_for(self, number: int, patience: float = 60.0) -> list[float]:
        end = time.time() + patience
        while len(self.moments()) < number:
            if time.time() > end:
                raise RuntimeError(f"{number} tasks did not start within {patience:g} s")
            time.sleep(0.01)
        return self.moments()


@contextmanager
def marks() -> Iterator[Marks]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        yield Marks(directory)
