"""Runs tasks with an image in Docker on this machine, through the docker command.

A container is created first and then started, so it is always known whether one exists. It is
removed whatever happens: by the engine when it ends, by us when it is killed, by the keeper when
this process is killed, and by the next one to use images if the keeper was killed, too.
"""

from __future__ import annotations

import asyncio
import os
import pwd
import shutil
import subprocess
import time
import uuid
from collections.abc import Coroutine, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...config.volumes import Volume
from . import docker_arguments
from .scratch_directory import make_sandbox
from .task_launch import SANDBOX, Launch, NotStarted

_MARK = "TFMESOS_ENGINE"  # in the environment of every docker command of ours
_ENGINE_TIMEOUT = 20.0  # seconds for the engine to answer when everything else has ended
_PAUSE = 0.1  # seconds between two attempts

# Waits for the word "done"; if its pipe breaks instead, removes what is left.
# Several times: the engine may still be busy with what a killed command has asked it for.
_KEEPER = r"""
docker=$1 mark=$2 label=$3 scratch=$4
while read -r word; do [ "$word" = done ] && exit; done
for _ in 1 2 3; do
    for file in $(grep -slz "^$mark\$" /proc/[0-9]*/environ); do
        pid=${file#/proc/}
        kill -9 "${pid%/environ}"
    done
    for container in $("$docker" ps --all --quiet --filter "label=$label"); do
        "$docker" rm --force --volumes "$container"
    done
    sleep 1
done
[ -z "$scratch" ] || rm -rf "$scratch"
"""


class NoEngine(Exception):
    """There is no Docker engine for us; the message says why."""


class Docker:
    """The docker command."""

    def __init__(self) -> None:
        """Raises NoEngine if there is none."""
        found = shutil.which("docker")
        if found is None:
            raise NoEngine("there is no docker command on the PATH")
        if docker_arguments.is_elsewhere(host := os.environ.get("DOCKER_HOST", "")):
            raise NoEngine(f"DOCKER_HOST={host} is the engine of another machine")
        self._docker = found
        self._environment = dict(os.environ)

    async def check(self) -> None:
        """Raise NoEngine unless there is an engine that can run our tasks."""
        try:
            async with asyncio.timeout(_ENGINE_TIMEOUT):
                code, _, err = await self._call("version", "--format", "{{.Server.Version}}")
                _, options, _ = await self._call("info", "--format", "{{.SecurityOptions}}")
        except TimeoutError:
            raise NoEngine(f"its engine does not answer within {_ENGINE_TIMEOUT:g} s") from None
        if code:
            raise NoEngine(_words(err))
        if "name=rootless" in options:
            raise NoEngine("its engine is rootless, and cannot give a task this machine's network")

    async def has(self, image: str) -> bool:
        code, _, _ = await self._call("image", "inspect", "--format", "-", image)
        return code == 0

    async def pull(self, image: str) -> None:
        """Raises NotStarted."""
        if image.startswith("-"):  # docker would take it for a flag
            raise NotStarted(f"'{image}' is not the name of an image")
        code, _, err = await self._call("pull", "--quiet", image)
        if code:
            raise NotStarted(f"Failed to pull image '{image}': {_words(err)}")

    async def _call(
        self, *arguments: str, more: dict[str, str] | None = None
    ) -> tuple[int, str, str]:
        """Exit code, output and complaints of a docker command; *more* goes to its environment."""
        process = await asyncio.create_subprocess_exec(
            self._docker,
            *arguments,
            env={**self._environment, **(more or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # a Ctrl-C is not for it
        )
        try:
            out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode or 0, out.decode(errors="replace"), err.decode(errors="replace")


class Engine(Docker):
    """The containers of one run. Must be used within its event loop only."""

    def __init__(self, scratch: str, user: str | None, volumes: Sequence[Volume]) -> None:
        """Raises NoEngine. *scratch* is removed if this process is killed.

        *user* is whose containers they are, if they are not ours.
        """
        super().__init__()
        self._user = user
        self._volumes = volumes
        self._id = uuid.uuid4().hex
        self._keeper = self._keep(scratch)
        self._environment[_MARK] = self._id  # and not in that of the keeper
        self._work: set[asyncio.Task[Any]] = set()
        self._spawn(self._sweep_dead())

    async def create(self, launch: Launch) -> None:
        """Make the container of a task; raises NotStarted.

        It does not stop half-way: if it is cancelled, what it has made is removed.
        """
        creating = self._spawn(self._create(launch))
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:
            self._spawn(self._undo(creating, launch))
            raise

    async def _create(self, launch: Launch) -> None:
        user, is_own = _user(self._user)
        variables = {SANDBOX: docker_arguments.SANDBOX, **launch.for_runner()}
        around = docker_arguments.Surroundings(
            user=user,
            labels={
                docker_arguments.OWNER: _owner(),
                docker_arguments.RUN: self._id,
                docker_arguments.TASK: launch.task_id,
            },
            # By name where that is enough: everybody can read a command line.
            variables=[
                n if n not in self._environment else f"{n}={v}" for n, v in variables.items()
            ],
            volumes=self._volumes,
            cpus=float(os.cpu_count() or 1),
        )
        try:
            # It must be open to other users; the directories above it keep strangers out.
            make_sandbox(launch.sandbox, 0o700 if is_own else 0o777)
            more = {n: v for n, v in variables.items() if n not in self._environment}
            code, _, err = await self._call(
                *docker_arguments.create_arguments(launch, around), more=more
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in an argument or a variable
            raise NotStarted(str(error)) from error
        if code:
            raise NotStarted(_words(err))

    async def _undo(self, creating: asyncio.Task[None], launch: Launch) -> None:
        try:
            await creating
        except NotStarted:
            return
        await self.remove(launch)

    def start(self, launch: Launch) -> subprocess.Popen[bytes]:
        """The command that starts the container and ends as it does; raises NotStarted."""
        try:
            with (
                open(launch.sandbox / "stdout", "wb") as out,
                open(launch.sandbox / "stderr", "wb") as err,
            ):
                return subprocess.Popen(
                    [self._docker, "start", "--attach", docker_arguments.name_of(launch)],
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,
                )
        except OSError as error:
            self._spawn(self.remove(launch))
            raise NotStarted(str(error)) from error

    def signal(self, launches: Iterable[Launch], number: int) -> None:
        """Not through the docker commands that started them: not all versions pass signals on."""
        self._spawn(self._signal([docker_arguments.name_of(launch) for launch in launches], number))

    async def _signal(self, names: list[str], number: int) -> None:
        """Again if necessary: the engine may not yet consider a started container to be running."""
        end = time.monotonic() + _ENGINE_TIMEOUT
        while names and time.monotonic() < end:
            _, _, err = await self._call("kill", "--signal", str(number), *names)
            complaints = [line for line in err.splitlines() if "is not running" in line]
            names = [name for name in names if any(name in line for line in complaints)]
            await asyncio.sleep(_PAUSE if names else 0)

    async def ran_out_of_memory(self, launch: Launch, since: float) -> bool:
        span = ("--since", f"{since:.3f}", "--until", f"{time.time():.3f}")
        filters = (
            "--filter",
            f"container={docker_arguments.name_of(launch)}",
            "--filter",
            "event=oom",
        )
        _, out, _ = await self._call("events", *span, *filters, "--format", "{{.Action}}")
        return "oom" in out.split()

    async def remove(self, launch: Launch) -> None:
        await self._remove(docker_arguments.name_of(launch))

    async def _remove(self, name: str) -> None:
        await self._call("rm", "--force", "--volumes", name)

    async def finish_work(self) -> None:
        """Wait until all work under way is complete."""
        while self._work:
            await asyncio.gather(*self._work, return_exceptions=True)

    def close(self) -> None:
        """Leave no container of ours. Synchronous, so that no cancellation can come between."""
        try:
            ours = f"label={docker_arguments.RUN}={self._id}"
            if left := self._run("ps", "--all", "--quiet", "--filter", ours).split():
                self._run("rm", "--force", "--volumes", *left)
        except (OSError, subprocess.SubprocessError):
            self._dismiss_keeper(b"")  # it will try again
        else:
            self._dismiss_keeper(b"done\n")

    def _run(self, *arguments: str) -> str:
        command = [self._docker, *arguments]
        done = subprocess.run(
            command, env=self._environment, capture_output=True, text=True, timeout=_ENGINE_TIMEOUT
        )
        return done.stdout

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.ensure_future(work)
        self._work.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._work.discard(task)
        if not task.cancelled():
            task.exception()  # is passed to whoever waits for it

    def _keep(self, scratch: str) -> subprocess.Popen[bytes]:
        words = (self._docker, f"{_MARK}={self._id}", f"{docker_arguments.RUN}={self._id}", scratch)
        return subprocess.Popen(
            ["/bin/sh", "-c", _KEEPER, "tfmesos-keeper", *words],
            env=self._environment,
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _dismiss_keeper(self, word: bytes) -> None:
        assert self._keeper.stdin is not None
        try:
            self._keeper.stdin.write(word)
            self._keeper.stdin.close()
        except OSError:
            pass  # somebody killed it
        if word:
            self._keeper.wait()

    async def _sweep_dead(self) -> None:
        """Remove what launchers left that were killed together with their keepers."""
        form = f'{{{{.ID}}}} {{{{.Label "{docker_arguments.OWNER}"}}}}'
        owned = ("--all", "--filter", f"label={docker_arguments.OWNER}", "--format", form)
        _, out, _ = await self._call("ps", *owned)
        for container, _, owner in (line.partition(" ") for line in out.splitlines()):
            if _is_dead(owner):
                await self._remove(container)


def _user(name: str | None) -> tuple[list[str], bool]:
    """The arguments that make it run as *name*, and whether that is our own user."""
    own = f"{os.getuid()}:{os.getgid()}"
    try:
        found = pwd.getpwnam(name) if name else pwd.getpwuid(os.getuid())
        user = f"{found.pw_uid}:{found.pw_gid}"
    except KeyError:  # it may be a number, or known to the image only
        user = name or own
    if user.partition(":")[0] != str(os.getuid()):
        return ["--user", user], False
    groups = [word for group in os.getgroups() for word in ("--group-add", str(group))]
    return ["--user", own, *(groups if os.getuid() else [])], True


def _owner() -> str:
    """This process, identified uniquely by boot, pid namespace, pid and start time."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}/{os.getpid()}/{_started(os.getpid())}"
    except OSError:
        return ""  # not Linux


def _is_dead(owner: str) -> bool:
    """Nothing is known about owners in other namespaces."""
    place, _, process = owner.rpartition("/")[0].rpartition("/")
    if not _owner().startswith(f"{place}/") or not process.isdecimal():
        return False
    return _started(int(process)) != owner.rpartition("/")[2]


def _started(pid: int) -> str:
    """When that process started, as the kernel reports it; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _words(complaint: str) -> str:
    """What docker complains about, without its advice to read the manual."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(("See '", "Run '"))]
    text = telling[-1] if telling else "docker gave no reason"
    return text.removeprefix("docker: ").removeprefix("Error response from daemon: ")
