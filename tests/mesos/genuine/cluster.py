"""A genuine Mesos on the loopback: masters and agents, each a process that can be ill-treated."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil

from tests.bounds import HANG, LEAVING
from tests.ports import free_port, offered_ports

STARTING = (None, 404, 503)  # answers of a master that cannot be used yet
QUICK_LOSS = {"agent_ping_timeout": "1secs", "max_agent_ping_timeouts": "3"}


def wait_until(what: str, is_so: Callable[[], object], within: float = HANG) -> None:
    """Poll what no event tells of."""
    end = time.monotonic() + within
    while not is_so():
        assert time.monotonic() < end, f"after {within:g} s still not so: {what}"
        time.sleep(0.02)


class Host:
    """One process of Mesos. Killed or stopped, it can be started again and remembers."""

    def __init__(self, program: Path, directory: Path, arguments: list[str], **flags: str):
        directory.mkdir(parents=True)
        self.directory, self.port = directory, free_port()
        self.log = directory / "log"
        self._command = [str(program), *arguments]
        self._environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "LIBPROCESS_IP": "127.0.0.1",
            "LIBPROCESS_PORT": str(self.port),
            "MESOS_WORK_DIR": str(directory / "work"),
            **{f"MESOS_{name.upper()}": value for name, value in flags.items()},
        }
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=self.directory,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def freeze(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def check(self) -> None:
        code = self.process.poll()
        assert code is None, f"ended with {code}: {self.log.read_text()[-2000:]}"

    def get(self, path: str) -> dict:
        """The JSON at *path*; empty as long as there is none."""
        status, body = self._ask("GET", path)
        return json.loads(body) if status == 200 else {}

    def post(self, path: str, content: object) -> int | None:
        return self._ask("POST", path, json.dumps(content))[0]

    def _ask(self, method: str, path: str, body: str | None = None) -> tuple[int | None, bytes]:
        headers = {"Content-Type": "application/json"} if body else {}
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=HANG)
        ) as connection:
            try:
                connection.request(method, path, body, headers)
                answer = connection.getresponse()
                return answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                return None, b""


class Master(Host):
    def wait_until_up(self) -> None:
        def is_up() -> bool:
            self.check()
            return self.post("/api/v1/scheduler", {}) not in STARTING

        wait_until("the master is up", is_up)

    def restart(self) -> None:
        self.kill()
        self.start()
        self.wait_until_up()

    def agents(self) -> list[str]:
        """The host names of those that are connected."""
        known = self.get("/master/slaves").get("slaves", [])
        return sorted(agent["hostname"] for agent in known if agent["active"])

    def wait_for(self, *hostnames: str) -> None:
        def are_connected() -> bool:
            self.check()
            return self.agents() == sorted(hostnames)

        wait_until(f"connected: {hostnames}", are_connected)


class Agent(Host):
    def restart(self) -> None:
        self.kill()
        self.start()

    def unregister(self) -> None:
        """Have it say good-bye to the master, give up its tasks and end."""
        self.process.send_signal(signal.SIGUSR1)


class Mesos:
    """Masters and agents below *root*; nothing of them is left when the block is."""

    def __init__(self, rig: Path, root: Path) -> None:
        self._program, self._libexec = rig / "mesos-host", rig / "libexec"
        self._root = root
        self.hosts: list[Host] = []

    def __enter__(self) -> Mesos:
        return self

    def __exit__(self, *exc_info: object) -> None:
        """End everything; a task that is still running then makes the test fail."""
        try:
            if exc_info[0] is None:
                self.wait_until_no_task_runs()
        finally:
            self._end_everything()

    @property
    def master(self) -> Master:
        return next(host for host in self.hosts if isinstance(host, Master))

    def start(self, *hostnames: str, **flags: str) -> Master:
        """A master with these agents, connected to it."""
        master = self.start_master(**flags)
        for hostname in hostnames:
            self.start_agent(hostname)
        master.wait_for(*hostnames)
        return master

    def start_master(self, **flags: str) -> Master:
        master = self._start_master(["master"], **flags)
        master.wait_until_up()
        return master

    def start_candidate(self, leader: str, **flags: str) -> Master:
        """A master that stands for election (zk://...), or redirects to *leader* for ever."""
        return self._start_master(["candidate", leader], **flags)

    def _start_master(self, arguments: list[str], **flags: str) -> Master:
        defaults = {
            "num_slaves": "0",
            "hostname_lookup": "false",
            "allocation_interval": "200ms",
            "registration_backoff_factor": "10ms",
        }
        directory = self._root / f"master-{len(self.hosts)}"
        master = Master(self._program, directory, arguments, **{**defaults, **flags})
        self.hosts.append(master)
        return master

    def start_agent(
        self,
        hostname: str,
        resources: str = "cpus:4;mem:4096;disk:1024",
        attributes: str = "",
        master: str | None = None,
        **flags: str,
    ) -> Agent:
        directory = self._root / hostname
        defaults = {
            "hostname": hostname,
            "resources": resources if "ports:" in resources else f"{resources};{offered_ports()}",
            "attributes": attributes,
            "runtime_dir": str(directory / "run"),
            "fetcher_cache_dir": str(directory / "fetch"),
            "launcher_dir": str(self._libexec),
            "launcher": "posix",
            "isolation": "posix/cpu,posix/mem",
            "systemd_enable_support": "false",
            "http_command_executor": "true",
            "registration_backoff_factor": "10ms",
        }
        if os.geteuid() != 0:
            defaults["switch_user"] = "false"
        master = master or self.master.address
        agent = Agent(self._program, directory, ["agent", master], **{**defaults, **flags})
        self.hosts.append(agent)
        return agent

    def tasks(self) -> list[psutil.Process]:
        """The processes that run as tasks, also those whose agent has died."""
        return [task for executor in self.executors() for task in _below(executor)]

    def wait_until_no_task_runs(self) -> None:
        wait_until("no task runs any more", lambda: not self.tasks(), LEAVING)

    def executors(self) -> list[psutil.Process]:
        return [it for it in self._containers() if "mesos-executor" in " ".join(_command(it)[:3])]

    def _containers(self) -> list[psutil.Process]:
        """What agents have started, in whatever generation; orphans come to this process."""
        return [it for it in _below(psutil.Process()) if self._is_ours(it)]

    def _is_ours(self, process: psutil.Process) -> bool:
        try:
            return str(self._root) in " ".join(process.environ().values())
        except psutil.Error:
            return False

    def _end_everything(self) -> None:
        for host in self.hosts:  # first, for they may be about to start another container
            host.kill()
        while containers := self._containers():
            left = [process for it in containers for process in (it, *_below(it))]
            for process in left:
                with suppress(psutil.NoSuchProcess):
                    process.kill()
            psutil.wait_procs(left, HANG)


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        found = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [it for it in found if _command(it)]  # a zombie has no command any more


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []
