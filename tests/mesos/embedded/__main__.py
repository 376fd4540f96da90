"""python -m tests.mesos.embedded: the embedded Mesos on its own.

For frameworks whose tasks are commands and that speak JSON: ``calls.SUPPORTED_CALLS``, no custom
executors, no operator API.
"""

from __future__ import annotations

import argparse
import asyncio
import errno
import signal
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from tfmesos.command_line import Answer, CommandLine
from tfmesos.errors import SpecError

from .cluster import AgentConfig, LocalMesos
from .machine import this_machine
from .resources import parse

PROG = "tests.mesos.embedded"


def main(argv: Sequence[str] | None = None) -> int:
    try:
        mesos = build(build_parser().parse_args(argv))
    except Answer as answer:
        print(answer, end="")
        return 0
    except SpecError as error:
        return _complain(f"--{error.field} {error.problem}", error.exit_code)
    try:
        return asyncio.run(run(mesos))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            return _complain("the port is taken; choose another with --port, or 0 for any", 1)
        return _complain(f"cannot start: {error}", 1)


def build_parser() -> argparse.ArgumentParser:
    parser = CommandLine(
        prog=f"python -m {PROG}",
        description="Run a Mesos master and agents on this machine until interrupted.",
    )
    parser.add_argument("--port", type=int, default=5050, help="0 takes any free one (5050)")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--agents", type=int, default=1, metavar="N", help="how many agents (1)")
    parser.add_argument(
        "--resources",
        action="append",
        metavar="TEXT",
        help="what an agent offers, like 'cpus:8;mem:16384;gpus:2;ports:[31000-32000]' "
        "(default: what this machine has); repeat it to make agents differ: "
        "the n-th is for the n-th agent, the last for all that follow",
    )
    parser.add_argument(
        "--attributes", action="append", metavar="TEXT", help="like 'rack:r1'; may be repeated"
    )
    parser.add_argument(
        "--hostname", action="append", metavar="NAME", help="name of an agent; may be repeated"
    )
    parser.add_argument(
        "--credential-file",
        type=Path,
        metavar="FILE",
        help="principal and secret, separated by white space, that frameworks must present",
    )
    parser.add_argument(
        "--work-dir", type=Path, metavar="DIR", help="where sandboxes go, and stay (temporary)"
    )
    return parser


def build(args: argparse.Namespace) -> LocalMesos:
    """The LocalMesos the flags describe; raise SpecError naming the flag that is wrong."""
    if not 0 <= args.port <= 65535:
        raise SpecError(None, "port", f"must be between 0 and 65535, got {args.port}")
    if args.agents < 1:
        raise SpecError(None, "agents", f"must be at least 1, got {args.agents}")
    credential = _credential(args.credential_file)
    return LocalMesos(
        _agents(args),
        host=args.host,
        port=args.port,
        credential=credential,
        work_dir=args.work_dir,
        switch_user=True,
    )


def _agents(args: argparse.Namespace) -> list[AgentConfig]:
    machine = this_machine()
    texts = args.resources or [machine.resources]
    names = args.hostname or [socket.gethostname()]
    attributes = args.attributes or [""]

    def nth(values: list[str], index: int) -> str:
        return values[min(index, len(values) - 1)]

    gpus = list(machine.gpu_ids)
    agents = []
    for i in range(args.agents):
        resources = nth(texts, i)
        own, gpus = _split(gpus, resources)
        agents.append(AgentConfig(nth(names, i), resources, nth(attributes, i), own))
    return agents


def _split(gpus: list[str], text: str) -> tuple[tuple[str, ...], list[str]]:
    """The GPUs for an agent with these resources, and those that are left for the next."""
    count = int(parse(text).scalar("gpus"))
    return tuple(gpus[:count]), gpus[count:]


def _credential(path: Path | None) -> tuple[str, str] | None:
    if path is None:
        return None
    try:
        words = path.read_text().split()
    except (OSError, UnicodeDecodeError) as error:
        problem = f"{str(path)!r} cannot be read: {error}"
        raise SpecError(None, "credential-file", problem) from error
    if len(words) != 2:
        problem = f"{str(path)!r} must hold two words, principal and secret; it has {len(words)}"
        raise SpecError(None, "credential-file", problem)
    return words[0], words[1]


async def run(mesos: LocalMesos) -> int:
    """Serve until SIGINT or SIGTERM, end every task, and return the exit code for the signal."""
    loop = asyncio.get_running_loop()
    received: asyncio.Future[int] = loop.create_future()

    def stop(number: int) -> None:
        if not received.done():
            received.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, number)
    async with mesos:
        print(f"Mesos is ready at {mesos.url}", flush=True)
        if mesos.is_open:
            _complain(f"warning: {mesos.audience} can run commands here; see --credential-file")
        return 128 + await received


def _complain(text: str, code: int = 0) -> int:
    print(f"{PROG}: {text}", file=sys.stderr, flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
