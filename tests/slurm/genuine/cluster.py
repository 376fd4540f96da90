"""slurmctld, munged and several slurmd, each a process that can be ill-treated."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.bounds import HANG
from tests.lasting import PIDS
from tests.mesos.genuine.cluster import wait_until
from tests.ports import free_port

from . import accounting

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "unshare")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NODES = ("n1", "n2", "n3")
FEATURES = {"n1": "rack1", "n2": "rack2", "n3": "rack2"}
CPUS, MEMORY, GPUS = 4, 4000, 2  # of each node


class CannotRun(Exception):
    """No genuine Slurm can run here; the message says why."""


def check_machine() -> None:
    missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if missing:
        way_out = "apt-get install slurmctld slurmd slurm-client munge util-linux"
        raise CannotRun(f"{missing[0]} is missing: {way_out}")
    if os.geteuid() != 0:
        raise CannotRun("slurmd needs root")


def check_accounting() -> None:
    """Beside ``check_machine``: accounts need more programs."""
    if name := accounting.missing(PATH):
        way_out = "apt-get install slurmdbd mariadb-server-core mariadb-client"
        raise CannotRun(f"{name} is missing: {way_out}")


class Slurm:
    """Use it as a context; ``environment`` is what Slurm's commands need to find it."""

    def __init__(
        self,
        home: Path,
        *,
        cpus: int = CPUS,
        memory: int = MEMORY,
        has_accounting: bool = False,
    ) -> None:
        self.home = home
        self._accounting = accounting.Accounting(home) if has_accounting else None
        self._size = f"CPUs={cpus} RealMemory={memory}"
        self.conf = home / "slurm.conf"
        self.environment = {"SLURM_CONF": str(self.conf)}
        self._init: subprocess.Popen[str]

    def __enter__(self) -> Slurm:
        self._make_home()
        self._init = subprocess.Popen(
            [
                *("unshare", "--pid", "--fork", "--mount-proc", "--kill-child"),
                *(sys.executable, str(Path(__file__).with_name("init.py"))),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        PIDS.add(self._init.pid)
        assert self._init.stdout and self._init.stdout.readline() == "ready\n"
        try:
            self.start_munged()
            if self._accounting:
                self._accounting.start(self._start, self.run)
            self.start_slurmctld()
            for name in NODES:
                self.start_slurmd(name)
            self.wait_for_nodes()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        """All processes of the namespace end with the first one."""
        self._init.kill()
        self._init.wait()
        assert self._init.stdin and self._init.stdout
        self._init.stdin.close()
        self._init.stdout.close()
        PIDS.discard(self._init.pid)

    # Daemons

    def _ask(self, *request: Any) -> Any:
        assert self._init.stdin and self._init.stdout
        self._init.stdin.write(json.dumps(request) + "\n")
        self._init.stdin.flush()
        return json.loads(self._init.stdout.readline())

    def _start(self, name: str, *command: str) -> None:
        environment = {"PATH": PATH, **self.environment}
        self._ask("start", name, command, environment, str(self.home / "log" / name))

    def start_munged(self) -> None:
        home = self.home
        self._start(
            "munged",
            *("munged", "--foreground", "--force", f"--socket={home}/munge.sock"),
            *(f"--key-file={home}/munge.key", f"--pid-file={home}/run/munged.pid"),
            f"--seed-file={home}/munge.seed",
        )
        wait_until("munged is up", (home / "munge.sock").exists)

    def start_slurmctld(self) -> None:
        self._start("slurmctld", "slurmctld", "-D")
        wait_until("slurmctld is up", lambda: self.run("scontrol", "ping").returncode == 0)

    def start_slurmd(self, node: str) -> None:
        self._start(node, "slurmd", "-D", "-N", node)

    def kill(self, daemon: str, number: int = signal.SIGKILL) -> None:
        self._ask("kill", daemon, number)

    def kill_node(self, node: str) -> None:
        """All that runs there, as if it had lost its power; Slurm learns it from its operator."""
        self._ask("kill_node", node)
        self.run("scontrol", "update", f"NodeName={node}", "State=DOWN", "Reason=dead")

    def revive_node(self, node: str) -> None:
        self.give_back_node(node)
        self.wait_for_nodes()

    def give_back_node(self, node: str) -> None:
        """To whoever waits for it: soon it may be full."""
        self.start_slurmd(node)
        self.run("scontrol", "update", f"NodeName={node}", "State=RESUME")

    def wait_for_nodes(self, *nodes: str) -> None:
        """Until these, or all, can be given to jobs."""

        def are_up() -> bool:
            states = self.output("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").split("\n")
            up = {line.split()[0] for line in states if line.endswith((" idle", " mixed"))}
            return up >= set(nodes or NODES)

        wait_until(f"up: {nodes or NODES}", are_up)

    # What runs there

    def run(self, *command: str, **options: Any) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **self.environment}
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=HANG, **options
        )

    def output(self, *command: str) -> str:
        return self.run(*command).stdout.strip()

    def jobs(self) -> list[str]:
        return self.output("squeue", "-h", "-a", "-o", "%i %T").splitlines()

    def processes(self) -> list[str]:
        """What runs beside the daemons, and belongs to no daemon."""
        own = ("slurmd ", "slurmctld", "munged", "slurmscriptd")
        return [line for line in self._ask("others") if not any(name in line for name in own)]

    def signal(self, text: str, number: int) -> int:
        """Signal each process of the cluster whose command line holds *text*; their number."""
        found: int = self._ask("signal_others", text, number)
        return found

    def is_idle(self) -> bool:
        return not self.jobs() and not self.processes()

    def wait_until_idle(self) -> None:
        wait_until("no job and no process is left", self.is_idle)

    def clear(self) -> None:
        """End all jobs, whoever they belong to, and have all nodes back."""
        self.run("scancel", "--user=root")
        self.run("scancel", "--user=nobody")
        wait_until("nothing runs", self.is_idle)

    # Files

    def _make_home(self) -> None:
        for part in ("state", "run", "log", *(f"spool/{node}" for node in NODES)):
            (self.home / part).mkdir(parents=True)
        for directory in [self.home, *self.home.parents][:-2]:
            directory.chmod(directory.stat().st_mode | 0o055)
        key = self.home / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        for number in range(GPUS):  # counted, not used
            os.mknod(self.home / f"gpu{number}", 0o20666, os.makedev(1, 3))
        gpus = f"{self.home}/gpu[0-{GPUS - 1}]"
        (self.home / "gres.conf").write_text(f"NodeName=n[1-3] Name=gpu Type=a100 File={gpus}\n")
        self.conf.write_text("\n".join(self._configuration()) + "\n")

    def _configuration(self) -> Sequence[str]:
        home, host = self.home, socket.gethostname().partition(".")[0]
        none = ["AccountingStorageType=accounting_storage/none"]
        ports = free_ports(1 + len(NODES))
        return [
            "ClusterName=test",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={ports[0]}",
            "SlurmUser=root",
            "SlurmdUser=root",
            "AuthType=auth/munge",
            f"AuthInfo=socket={home}/munge.sock",
            "CredType=cred/munge",
            f"StateSaveLocation={home}/state",
            f"SlurmdSpoolDir={home}/spool/%n",
            f"SlurmctldPidFile={home}/run/slurmctld.pid",
            f"SlurmdPidFile={home}/run/slurmd-%n.pid",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_CPU_Memory",
            "SchedulerType=sched/backfill",
            "SchedulerParameters=bf_hetjob_immediate,bf_interval=1,sched_min_interval=200000",
            "PreemptType=preempt/partition_prio",
            "PreemptMode=REQUEUE",
            "ReturnToService=2",
            "SlurmdParameters=config_overrides",
            "JobRequeue=1",
            "KillWait=5",
            "SlurmdTimeout=120",
            "MpiDefault=none",
            *(self._accounting.configuration() if self._accounting else none),
            "JobAcctGatherType=jobacct_gather/none",
            "GresTypes=gpu",
            "MessageTimeout=60",  # of a busy machine; a dead peer refuses at once
            *(
                f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} "
                f"{self._size} Gres=gpu:a100:{GPUS} Feature={FEATURES[name]} "
                "State=UNKNOWN"
                for name, port in zip(NODES, ports[1:], strict=True)
            ),
            "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1",
            "PartitionName=small Nodes=n1 MaxTime=10 MaxNodes=1 State=UP PriorityTier=1",
            "PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9",
        ]


def free_ports(number: int) -> list[int]:
    """No two of them are the same, and the kernel gives none of them to a connection."""
    found: set[int] = set()
    while len(found) < number:
        found.add(free_port())
    return [*found]
