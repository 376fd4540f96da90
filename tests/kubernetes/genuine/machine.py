"""A machine made of namespaces: network, mounts, processes, host name. Needs Linux and root.

Every program in it finds its usual ports and directories free (/run, /var/lib and /var/log are
private), its mounts are invisible from outside, and when its first process is killed the kernel
takes all the others along, containers included. It is killed when we die.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.bounds import HANG
from tests.lasting import PIDS

from .build import CannotRun, run

# The kubelet wants to write these settings of the kernel, which are those of the host; it finds
# files instead that hold what it wants.
TUNABLES = {
    "vm/overcommit_memory": "1",
    "vm/panic_on_oom": "0",
    "kernel/panic": "10",
    "kernel/panic_on_oops": "1",
    "kernel/keys/root_maxkeys": "1000000",
    "kernel/keys/root_maxbytes": "25000000",
}
PRIVATE = {"lib": "/var/lib", "log": "/var/log", "run": "/run"}
IN_MEMORY = ("/var/lib/docker", "/var/lib/etcd")  # nobody waits for a disk, or clears it


class Program:
    """One daemon inside a machine. *process* is nsenter, which waits for it and ends as it did."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name, self.process, self.log = name, process, log
        PIDS.add(process.pid)

    @property
    def pid(self) -> int:
        """The pid as the host sees it."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(wait_until(lambda: children.read_text().split() or None, self)[0])

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.wait()

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def wait(self) -> None:
        self.process.send_signal(signal.SIGCONT)  # nsenter stops itself with a program that froze
        self.process.wait(HANG)
        PIDS.discard(self.process.pid)

    def check(self) -> None:
        if self.process.poll() is not None:
            said = self.log.read_text(errors="replace").splitlines()[-5:]
            raise CannotRun(f"{self.name} ended with {self.process.returncode}: {' / '.join(said)}")


class Machine:
    """A set of namespaces and the programs in it."""

    def __init__(self, name: str, directory: Path) -> None:
        self.name, self.directory = name, directory
        self.programs: dict[str, Program] = {}
        for kind in (*PRIVATE, "sys"):
            (directory / kind).mkdir(parents=True)
        spaces = ("--net", "--mount", "--propagation=slave", "--pid", "--uts", "--ipc")
        # It dies with us, and its first process, which takes all others along, dies with it.
        command = ["setpriv", "--pdeathsig=KILL", "unshare", *spaces, "--fork", "--kill-child"]
        self.holder = subprocess.Popen(
            [*command, "--mount-proc", "sh", "-c", self._script()],
            stdout=subprocess.PIPE,
            process_group=0,
        )
        PIDS.add(self.holder.pid)
        assert self.holder.stdout
        if self.holder.stdout.readline() != b"ready\n":
            self.kill()
            raise CannotRun(f"the namespaces of {name} cannot be made")

    def _script(self) -> str:
        """What the first process does: private directories, and then to reap orphans for ever."""
        lines = ["set -e", f"hostname {self.name}", "ip link set lo up"]
        for tunable, value in TUNABLES.items():
            file = self.directory / "sys" / tunable.replace("/", ".")
            file.write_text(f"{value}\n")
            lines.append(f"mount --bind '{file}' /proc/sys/{tunable}")
        for kind, place in PRIVATE.items():
            lines.append(f"mount --bind '{self.directory / kind}' {place}")
        for heavy in IN_MEMORY:
            lines.append(f"mkdir {heavy} && mount -t tmpfs tmpfs {heavy}")
        return "\n".join([*lines, "echo ready", "sleep infinity & wait"])

    @property
    def is_alive(self) -> bool:
        return self.holder.poll() is None

    @property
    def pid(self) -> int:
        holder = self.holder.pid
        return int(Path(f"/proc/{holder}/task/{holder}/children").read_text())

    def inside(self, *command: object) -> list[str]:
        spaces = ("--net", "--mount", "--pid", "--uts", "--ipc")
        return ["nsenter", f"--target={self.pid}", *spaces, "--", *map(str, command)]

    def run(self, *command: object) -> str:
        return run(*self.inside(*command))

    def start(self, name: str, *command: object) -> Program:
        log = self.directory / f"{name}.log"
        with log.open("ab") as file:
            process = subprocess.Popen(
                self.inside(*command),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                env={**os.environ, "TMPDIR": "/run"},
                process_group=0,
            )
        self.programs[name] = Program(name, process, log)
        return self.programs[name]

    def kill(self) -> None:
        """Pull the plug: every process in it is gone when this returns, and all its mounts."""
        self.holder.kill()
        self.holder.wait()
        assert self.holder.stdout
        self.holder.stdout.close()
        for program in self.programs.values():
            program.wait()
        PIDS.discard(self.holder.pid)


def remove_cgroups(name: str) -> None:
    """The kernel keeps the directories of dead containers; they are empty, or soon will be."""
    end = time.monotonic() + HANG
    for top in [*Path("/sys/fs/cgroup").glob(f"*/{name}"), Path("/sys/fs/cgroup") / name]:
        for directory, _, _ in os.walk(top, topdown=False):
            while Path(directory).exists() and time.monotonic() < end:
                with suppress(OSError):
                    os.rmdir(directory)
                    break
                time.sleep(0.02)


def wait_until(check: Callable[[], Any], program: Program) -> Any:
    """What *check* finds; what *program* said last if it ends before."""
    end = time.monotonic() + HANG
    while not (found := check()):
        program.check()
        if time.monotonic() > end:
            last = program.log.read_text(errors="replace").splitlines()[-5:]
            raise CannotRun(f"{program.name} is not of use after {HANG:g} s: {' / '.join(last)}")
        time.sleep(0.1)
    return found
