"""How much a command inside a task delays the output of the task.

``python bench/exec_delay.py [SECONDS]`` runs a task that prints the time every 20 ms, first alone
and then while ``tfrun exec`` carries as many bytes as it can, and prints the lateness of the lines.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time

TFRUN = [sys.executable, "-m", "tfmesos"]
TASK = "import time\nwhile True: print(time.time(), flush=True); time.sleep(0.02)"


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 10.0
    command = [*TFRUN, "-w", "1", "--", sys.executable, "-c", TASK]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
        late: list[float] = []
        threading.Thread(target=_read, args=(run, late), daemon=True).start()
        while not late:
            time.sleep(0.1)
        late.clear()
        time.sleep(seconds)
        _tell("alone", late)
        carried = [*TFRUN, "exec", "worker:0", "--", "cat", "/dev/zero"]
        with subprocess.Popen(carried, stdout=subprocess.PIPE) as inside:
            assert inside.stdout is not None
            inside.stdout.read(1)
            late.clear()
            size, end = 0, time.monotonic() + seconds
            while time.monotonic() < end:
                size += len(inside.stdout.read1(1024 * 1024))
            _tell(f"beside {size / seconds / 1e6:.0f} MB/s", late)
            inside.kill()
        run.terminate()


def _read(run: subprocess.Popen[str], late: list[float]) -> None:
    assert run.stdout is not None
    for line in run.stdout:
        late.append(time.time() - float(line.split()[-1]))


def _tell(what: str, late: list[float]) -> None:
    found = sorted(late)
    middle, most = found[len(found) // 2], found[-1]
    print(f"{what}: {len(found)} lines, {1000 * middle:.0f} ms late, {1000 * most:.0f} at most")


if __name__ == "__main__":
    main()
