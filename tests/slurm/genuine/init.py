"""The first process of the cluster's PID namespace: starts daemons, signals them, reaps orphans.

It reads requests from its standard input, one JSON list a line, and answers each with a line. All
processes of the namespace end with it. It needs nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

DAEMONS: dict[str, subprocess.Popen[bytes]] = {}


def start(name: str, command: list[str], environment: dict[str, str], log: str) -> int:
    with open(log, "ab") as file:
        DAEMONS[name] = subprocess.Popen(
            command,
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    return DAEMONS[name].pid


def kill(name: str, number: int) -> int | None:
    """Its exit code, once it has ended; a stopped one has none."""
    daemon = DAEMONS[name]
    daemon.send_signal(number)
    return daemon.wait() if number in (signal.SIGKILL, signal.SIGTERM) else None


def check(name: str) -> int | None:
    return DAEMONS[name].poll()


def others() -> list[str]:
    """The command lines of all processes that are no daemons of ours."""
    known = {os.getpid(), *(daemon.pid for daemon in DAEMONS.values())}
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            line = (
                (directory / "cmdline")
                .read_bytes()
                .replace(b"\0", b" ")
                .decode(errors="replace")
                .strip()
            )
        except OSError:
            continue  # it has ended
        if int(directory.name) not in known and line:
            found.append(line)
    return found


def signal_others(text: str, number: int) -> int:
    """Signal each process whose command line holds *text*; their number."""
    count = 0
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            line = (
                (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            )
        except OSError:
            continue
        if text in line and int(directory.name) != os.getpid():
            with suppress(ProcessLookupError):
                os.kill(int(directory.name), number)
                count += 1
    return count


def kill_node(name: str) -> int:
    """Kill all that runs on a node, as if it had lost its power; the number of processes."""
    (daemon := DAEMONS[name]).kill()
    daemon.wait()
    mark = f"\0SLURMD_NODENAME={name}\0".encode()
    doomed = set()
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            if mark in b"\0" + (directory / "environ").read_bytes() + b"\0":
                doomed |= {int(directory.name), stepd_of(int(directory.name))}
        except OSError:
            continue
    for pid in doomed - {0}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return len(doomed)


def stepd_of(pid: int) -> int:
    """The slurmstepd above a process; 0 if there is none."""
    while pid > 1:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        pid = int(fields[1])
        if pid > 1 and "slurmstepd" in Path(f"/proc/{pid}/cmdline").read_text():
            return pid
    return 0


def reap() -> None:
    """Orphans become our children; those that a Popen waits for are left to it."""
    ours = {daemon.pid for daemon in DAEMONS.values()}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        pid = int(directory.name)
        if fields[0] == "Z" and fields[1] == str(os.getpid()) and pid not in ours:
            os.waitpid(pid, os.WNOHANG)


REQUESTS = {one.__name__: one for one in (start, kill, kill_node, check, others, signal_others)}


def main() -> None:
    print("ready", flush=True)
    for line in sys.stdin:
        name, *arguments = json.loads(line)
        reap()
        print(json.dumps(REQUESTS[name](*arguments)), flush=True)


main()
