"""``tfrun forward``."""

from __future__ import annotations

import argparse
import asyncio
import os
import re

from ...errors import TFMesosError
from ...launcher.links.local_port import LocalPort, Streams
from ...runs.inside.channel_end import connect
from ...runs.run_files import RunDirectory
from ...shared import wire
from ...shared.channel import Channel
from . import common_arguments
from .answer import say
from .choice import NoSuchTask, living_run, task_and_rest, task_of
from .common_arguments import Argument

HELP = "forward a port of this machine to a port of a task, until Ctrl-C or the end of the task"
USAGE = "tfrun forward [-h] [--to LOCAL] [ID] TASK[:PORT]"
ARGUMENTS: tuple[Argument, ...] = (
    (
        ("--to",),
        {
            "type": common_arguments.port,
            "metavar": "LOCAL",
            "default": 0,
            "help": "port on 127.0.0.1 to listen on (default: a free one)",
        },
    ),
    (
        ("words",),
        {
            "nargs": "+",
            "metavar": "[ID] TASK[:PORT]",
            "help": "id of the run (default: the only active run), and name of the task with the "
            "port, such as worker:0:5678 (default: the port that the task has in the cluster)",
        },
    ),
)
_TASK = re.compile(r"(?P<task>[^:]+:[^:]+)(:(?P<port>[0-9]+))?")


class PortTaken(TFMesosError):
    exit_code = 71  # EX_OSERR


def run(args: argparse.Namespace) -> int:
    prefix, words, more = task_and_rest(args.words)
    match = _TASK.fullmatch(words)
    if match is None or more:
        given = " ".join(args.words)
        raise NoSuchTask(f"{given!r} is not TASK[:PORT], such as worker:0:5678")
    port = int(match["port"] or 0)
    if match["port"] and not 0 < port < 65536:
        raise NoSuchTask(f"the port of {words} must be from 1 to 65535")
    found = living_run(prefix)
    task = task_of(found, match["task"])
    try:
        return asyncio.run(_forward(found, task, port, args.to))
    except KeyboardInterrupt:
        return 0


async def _forward(run: RunDirectory, task: str, port: int, local: int) -> int:
    async def channel() -> Streams:
        return await _stream(run, task, "forward", port)

    reader, writer = await _stream(run, task, "stay", port)
    Channel(0, writer.write)  # gives credit, as all do
    way = LocalPort(channel, lambda problem: say(f"{task}: {problem}"))
    try:
        way.bind(local)
    except OSError as error:
        reason = os.strerror(error.errno or 0)
        raise PortTaken(f"cannot listen at 127.0.0.1:{local}: {reason}") from None
    where = f"port {port}" if port else "the port"
    say(f"127.0.0.1:{way.port} is forwarded to {where} of {task} until Ctrl-C")
    serving = asyncio.create_task(way.serve())
    try:
        problem = await _end_of(reader)
    finally:
        serving.cancel()
        await asyncio.wait([serving])
    say(f"{task}: {problem}")
    return 0


async def _stream(run: RunDirectory, task: str, do: str, port: int) -> Streams:
    try:
        connection = await asyncio.to_thread(connect, run, task, do=do, port=port)
    except TFMesosError as error:
        if do == "stay":
            raise
        raise OSError(str(error)) from None  # of one connection
    return await asyncio.open_connection(sock=connection)


async def _end_of(reader: asyncio.StreamReader) -> str:
    decoder = wire.FrameDecoder(wire.MAX_FRAME)
    while data := await reader.read(4096):
        for message in decoder.feed(data):
            if message["type"] == "done":
                return wire.field(message, "problem", str)
    return "the launcher is gone"
