"""What the owner of a run does inside its tasks: checks the request and records it.

The record has the command line of each request, but not what was typed or copied.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ..config.launch_config import LaunchConfig
from ..core.tasks import Tasks
from ..json_types import Json
from .links.listener import Listener
from .screen.console import Console

LONGEST = 1000  # characters of a command line in the record
_LOOKS_ON = frozenset(["stacks"])  # what is allowed in every run
_UNSAID = frozenset(["stacks", "forward"])  # what is not recorded: each connection would be

# The command of what is not called as its command:
_NAMES = {"stay": "forward", "copy_out": "cp", "copy_in": "cp"}


class Inside:
    def __init__(
        self,
        config: LaunchConfig,
        members: Callable[[], Tasks],  # as they are now
        listener: Listener,
        console: Console,
    ) -> None:
        self._config = config
        self._members = members
        self._listener = listener
        self._console = console

    def admit(self, asked: Json) -> str:
        """Complete and record a request of the owner; if it is refused, return the reason."""
        request = asked.get("request")
        if not isinstance(request, dict) or not isinstance(request.get("do"), str):
            return "this is not a request"
        if request.get("port") == 0:
            request["port"] = self.port_of(str(asked.get("task")))
        if not self._config.allow_exec and request["do"] not in _LOOKS_ON:
            return f"it was started with {self._console.named('allow_exec')}"
        _, problem = self._members().to_enter(str(asked.get("task")))
        if not problem and request["do"] not in _UNSAID:
            self._console.say(f"{asked['task']}: {in_words(request)}", "info")
        return problem

    async def serve(
        self, asked: Json, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task_id, _ = self._members().to_enter(str(asked["task"]))
        await self._listener.serve_owner(task_id, asked["request"], reader, writer)

    def port_of(self, name: str) -> int:
        """The port that we have given this task; 0 if there is no such task."""
        member = self._members().by_name(name)
        return member.port if member is not None else 0


def in_words(request: Mapping[str, Any]) -> str:
    """As a command line."""
    argv = request.get("argv")
    more = argv if isinstance(argv, list) else [request.get("path") or request.get("port") or ""]
    flag = ["-t"] if request.get("rows") is not None else []
    words = ["tfrun", _NAMES.get(request["do"], str(request["do"])), *flag, *map(str, more)]
    return shlex.join(words)[:LONGEST]
