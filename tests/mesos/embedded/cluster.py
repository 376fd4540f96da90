"""LocalMesos: a Mesos master and its agents in this process."""

from __future__ import annotations

import ipaddress
import socket
import uuid
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from tfmesos.acceptor import BACKLOG, Acceptor
from tfmesos.http.server import Server
from tfmesos.json_types import Json
from tfmesos.record import Record

from . import resources
from .auth import Auth
from .endpoints import Endpoints
from .entities import Timing
from .master import Master
from .workdir import WorkDir

CALL_TIMEOUT = 10.0  # seconds for somebody who connects to send a call that we take


class AgentConfig(Record):
    """One agent. Raises SpecError if *resources* or *attributes* cannot be read.

    Both are in the notation of mesos-agent, and the agent offers what they say and no more:
    no ports unless given.
    """

    hostname: str
    resources: str
    attributes: str = ""
    gpu_ids: tuple[str, ...] = ()  # of its scalar gpus; each task gets its own ones

    def __post_init__(self) -> None:
        resources.parse(self.resources)
        resources.parse_attributes(self.attributes)


class LocalMesos:
    """A Mesos master and agents that run tasks on this machine, for as long as the block lasts.

    However the block is left, no process of a task is left after it. *work_dir* gets the
    sandboxes; without one a private temporary directory does, and is removed in the end.
    Raises OSError if the port is taken.
    """

    def __init__(
        self,
        agents: Sequence[AgentConfig],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        credential: tuple[str, str] | None = None,
        work_dir: Path | None = None,
        timing: Timing | None = None,
        exit_grace: float = 1.0,
        switch_user: bool = False,
    ) -> None:
        self._configs = list(agents)
        self._host, self._port = host, port
        self._credential = credential
        self._work_dir = work_dir
        self._timing = timing or Timing()
        self._exit_grace = exit_grace  # seconds between SIGTERM and SIGKILL of tasks left at exit
        self._switch_user = switch_user  # do plain tasks run as whom they name, or as we do?
        self._agent_ids: dict[str, str] = {}
        self._stack = AsyncExitStack()
        self._master: Master
        self.directory: Path  # of all sandboxes

    @property
    def url(self) -> str:
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"http://{host}:{self._port}"

    @property
    def is_open(self) -> bool:
        """Does it take calls without a credential?"""
        return self._credential is None

    @property
    def audience(self) -> str:
        """Who reaches it, in words."""
        try:
            is_here = ipaddress.ip_address(self._host).is_loopback
        except ValueError:  # a name, or nothing: every address of ours
            is_here = self._host == "localhost"
        if is_here:
            return "every user of this machine"
        return f"everybody who reaches port {self._port} of this machine"

    @property
    def master_id(self) -> str:
        return str(self._master.state.info["id"])

    @property
    def _address(self) -> str:
        """Where a client on this machine finds us."""
        return {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}.get(self._host, self._host)

    async def __aenter__(self) -> LocalMesos:
        async with self._stack:
            listener = self._listen()
            self._port = listener.getsockname()[1]
            work_dir = WorkDir(self._work_dir)
            self._stack.callback(work_dir.close)
            self.directory = work_dir.path
            self._master = Master(
                self._info(), self._timing, work_dir, switch_user=self._switch_user
            )
            self._stack.push_async_callback(lambda: self._master.close(self._exit_grace))
            await self._serve(listener)
            for config in self._configs:
                self._register(config)
            self._stack = self._stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    def hurry(self) -> None:
        """Give tasks that are left at the exit no time to end by themselves."""
        self._exit_grace = 0.0

    def _listen(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        listener = socket.create_server((self._host, self._port), family=family, backlog=BACKLOG)
        self._stack.callback(listener.close)  # also if it is never served
        return listener

    def _info(self) -> Json:
        address = self._address
        try:
            number = int.from_bytes(ipaddress.IPv4Address(address).packed, "little")
        except ValueError:
            number = 0  # a name, or IPv6, which has no place in this field
        return {
            "id": str(uuid.uuid4()),
            "ip": number,
            "port": self._port,
            "pid": f"master@{address}:{self._port}",
            "hostname": address,
            "version": "1.11.0",
            "address": {"hostname": address, "ip": address, "port": self._port},
            "capabilities": [{"type": "AGENT_UPDATE"}, {"type": "AGENT_DRAINING"}, {}],
        }

    async def _serve(self, listener: socket.socket) -> None:
        names = {
            "localhost",
            socket.gethostname(),
            self._host,
            *(c.hostname for c in self._configs),
        }
        auth = Auth(self._credential, names, lambda protocol: acceptor.admit(protocol))
        endpoints = Endpoints(self._master, self._credential and self._credential[0], auth)
        server = Server(endpoints.answer)
        self._stack.push_async_callback(server.close)
        acceptor = Acceptor(listener, server.protocol, admit_within=CALL_TIMEOUT)
        self._stack.push_async_callback(acceptor.wait_closed)
        self._stack.callback(acceptor.close)

    def _register(self, config: AgentConfig) -> None:
        state, now = self._master.state, self._master.now()
        amount = resources.parse(config.resources)
        attributes = resources.parse_attributes(config.attributes)
        agent_id, effects = state.add_agent(
            config.hostname, amount, attributes, now, config.gpu_ids
        )
        self._agent_ids[config.hostname] = agent_id
        self._master.run(effects)

    def join(self, config: AgentConfig) -> None:
        """One more agent is there."""
        self._configs.append(config)
        self._register(config)

    def sandbox_of(self, task_id: str, framework_id: str | None = None) -> Path | None:
        """The directory of the newest task of that name, running or ended."""
        return self._master.sandbox_of(task_id, framework_id)

    def restart_master(self, *, agents_back: bool = True) -> None:
        """A new master, under a new id, takes over: streams break, tasks go on.

        Unless *agents_back*, its agents stay away until bring_back.
        """
        self._master.restart()
        for hostname in self._agent_ids if agents_back else ():
            self.bring_back(hostname)

    def lose(self, hostname: str) -> None:
        """Cut the agent off: the master gives it up, its tasks go on."""
        self._master.run(
            self._master.state.lose_agent(self._agent_ids[hostname], self._master.now())
        )

    def bring_back(self, hostname: str) -> None:
        """The lost agent is there again with its tasks; a killed one is a new agent without any."""
        agent_id = self._agent_ids[hostname]
        if self._master.state.agents[agent_id].gone:
            self._register(next(c for c in self._configs if c.hostname == hostname))
        else:
            self._master.run(self._master.state.recover_agent(agent_id, self._master.now()))

    def kill_agent(self, hostname: str) -> None:
        """The machine of the agent dies, and all its tasks with it."""
        agent_id = self._agent_ids[hostname]
        self._master.run(self._master.state.remove_agent(agent_id, self._master.now()))
        self._master.containers.kill_agent(agent_id)
