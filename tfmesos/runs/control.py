"""The socket in the run directory through which the owner of a run controls it.

A request is one line of JSON, and so is its answer: ``{"problem": ""}`` and more, or what is wrong.
For some requests a conversation follows the answer: frames of a channel into a task
(``shared.channel``).
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import struct
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Self

from ..errors import EngineError, SpecError, TFMesosError
from ..json_types import Json
from ..record import NOTHING
from ..shared import json_reader
from .run_files import RunDirectory
from .takeover.lost_runs import lost_words

LONGEST_PATH = 107  # bytes that Linux has for the path of a socket
LONGEST_LINE = 64 * 1024
ANSWER_WITHIN = 30.0  # seconds, of a launcher that is alive

END_WITHIN = 3.0  # seconds for conversations when the run has ended

# Gets the rest of the request; returns what is wrong or nothing, or a whole answer; perhaps later.
Command = Callable[[Json], str | Awaitable[Json]]
# What follows the answer, if nothing is wrong; gets the request, too.
Conversation = Callable[[Json, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class NoAnswer(EngineError):
    """The launcher of a run cannot be asked."""


class Refused(TFMesosError):
    """The launcher will not do that."""

    exit_code = 2


class Control:
    """Within its block, the *commands* can be given."""

    def __init__(
        self,
        run: RunDirectory,
        commands: Mapping[str, Command],
        complain: Callable[[str], object],
        conversations: Mapping[str, Conversation] = NOTHING,
    ) -> None:
        """The *conversations* have the names of the commands that they follow."""
        self._run = run
        self._commands = commands
        self._conversations = conversations
        self._talking: set[asyncio.Task[None] | None] = set()
        self._complain = complain
        self._server: asyncio.Server | None = None
        self._closing = ExitStack()

    async def __aenter__(self) -> Self:
        try:
            await self._listen()
        except OSError as error:
            self._complain(f"the run cannot be controlled from elsewhere: {error.strerror}")
        return self

    async def _listen(self) -> None:
        path = self._closing.enter_context(_short_path(self._run.socket_file))
        self._server = await asyncio.start_unix_server(self._serve, path, limit=LONGEST_LINE)
        os.chmod(path, 0o600)

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()
        if talking := [task for task in self._talking if task is not None]:
            await asyncio.wait(talking, timeout=END_WITHIN)
        self._run.socket_file.unlink(missing_ok=True)
        self._closing.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled if it outlives the run, of which asyncio would complain before Python 3.12.
        with suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.CancelledError):
            answer: Json = {"problem": "the run belongs to another user"}
            request: Json = {}
            if _user_of(writer.get_extra_info("socket")) in (0, os.geteuid()):
                line = await asyncio.wait_for(reader.readline(), ANSWER_WITHIN)
                answer = await self._answer(line, request)
            writer.write(json.dumps(answer).encode() + b"\n")
            await writer.drain()
            if not answer.get("problem"):
                await self._converse(request, reader, writer)
        writer.close()

    async def _answer(self, line: bytes, request: Json) -> Json:
        """*request* is filled in as it is read."""
        try:
            asked = json_reader.read(line)
        except ValueError as error:
            return {"problem": f"this is not a request: {error}"}
        command = self._commands.get(str(asked.get("do"))) if isinstance(asked, dict) else None
        if command is None:
            return {"problem": f"accepts only {', '.join(self._commands)}"}
        request.update(asked)
        answer = command(asked)
        return {"problem": answer} if isinstance(answer, str) else await answer

    async def _converse(
        self, request: Json, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        conversation = self._conversations.get(str(request.get("do")))
        if conversation is None:
            return
        task = asyncio.current_task()
        self._talking.add(task)
        try:
            await conversation(request, reader, writer)
        finally:
            self._talking.discard(task)


def _user_of(connection: socket.socket) -> int:
    """The user of the process at the other end, according to the kernel."""
    size = struct.calcsize("3i")
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _, user, _ = struct.unpack("3i", found)
    return int(user)


def ask(run: RunDirectory, do: str, *, within: float = ANSWER_WITHIN, **more: object) -> Json:
    """Have the launcher of *run* do something. Raises NoAnswer, or TFMesosError if it refuses."""
    link, answer = converse(run, do, within=within, **more)
    link.close()
    return answer


def converse(
    run: RunDirectory, do: str, *, within: float = ANSWER_WITHIN, **more: object
) -> tuple[socket.socket, Json]:
    """As ``ask``; returns also the socket, at which a conversation may follow."""
    if run.is_over:
        state = f"is lost: {lost_words(run)}" if run.is_lost else "is over"
        raise NoAnswer(f"run {run.id} {state}")
    if not run.launcher.is_of_this_machine:
        raise NoAnswer(
            f"the launcher of run {run.id} is on {run.launcher.host}: run the command there"
        )
    request = json.dumps({"do": do, **more}).encode() + b"\n"
    if len(request) > LONGEST_LINE:
        raise Refused(
            f"{run.id}: a request of {len(request)} bytes is too long, at most {LONGEST_LINE} "
            "are possible: put long arguments into a file (tfrun cp)"
        )
    with ExitStack() as unless_good:
        link = unless_good.enter_context(socket.socket(socket.AF_UNIX))
        link.settimeout(within)
        try:
            with _short_path(run.socket_file) as path:
                link.connect(path)
            link.sendall(request)
            answer: Json = json_reader.read(_line_of(link))
        except (OSError, ValueError) as error:
            raise NoAnswer(f"the launcher of run {run.id} does not answer: {error}") from None
        if answer.get("problem"):
            raise _refusal(run, answer)
        unless_good.pop_all()
    return link, answer


def _refusal(run: RunDirectory, answer: Json) -> TFMesosError:
    """The answer to a refused request; it may name the wrong field, or the exit code."""
    if "field" in answer:
        return SpecError(answer.get("job"), str(answer["field"]), str(answer.get("text")))
    refused = Refused(f"{run.id}: {answer['problem']}")
    refused.exit_code = int(answer.get("code", Refused.exit_code))
    return refused


def _line_of(link: socket.socket) -> bytes:
    """Reads up to the end of the line and no further: what follows is for others."""
    line = b""
    while not line.endswith(b"\n") and len(line) < LONGEST_LINE:
        if not (byte := link.recv(1)):
            break
        line += byte
    return line


@contextmanager
def _short_path(path: Path) -> Iterator[str]:
    """A way to *path* that is not too long for a socket, until the block is left. Raises OSError.

    A long one goes through its directory, held open, so a killed process leaves nothing behind.
    """
    if len(os.fsencode(path)) <= LONGEST_PATH:
        yield str(path)
        return
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{directory}/{path.name}"
    finally:
        os.close(directory)
