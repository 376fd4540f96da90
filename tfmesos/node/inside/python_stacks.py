"""What the Python processes of the task are doing, without stopping them.

py-spy reads their memory from outside, so it also sees a process that hangs in the kernel, that is
stopped, or that ignores signals. It is installed on the node, or comes from the launcher's machine.
If it cannot be used, a process whose program allows it prints its own stacks (``printed_stacks``).
For all others, the kernel says what they wait for.
"""

from __future__ import annotations

import json
import os
import sys

from ...shared import held_directory, process
from ..process.child import Child
from ..task.workspace import TASK_DIR
from .command import MARK
from .printed_stacks import PrintedStacks, can_print, threads
from .work import Work, careful

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from ..loop import Timer
    from .work import Opened

TOOL = "py-spy"
SIGNAL_NAME = "SIGRTMAX"
NO_TOOL = "py-spy is neither on its node nor here: pip install py-spy"
NO_NATIVE = f"--native needs py-spy: {NO_TOOL}"
LARGEST_TOOL = 64 * 1024 * 1024  # bytes
MOST_PROCESSES = 64
MOST_THREADS = 64
MOST_FRAMES = 100
ATTEMPTS = 3  # a process that runs may change under the eyes of who reads it
TOOL_TIME = 20.0  # seconds for one process
LONGEST_OUTPUT = 16 * 1024 * 1024  # bytes
LONGEST_LINE = 200  # characters of a command line, or of what is wrong


class Stacks(Work):
    """Sends a line of JSON for each process; first ``{"needs_tool": true}`` if that is so."""

    def __init__(self, opened: Opened) -> None:
        super().__init__(opened.channel, opened.over)
        surroundings = opened.surroundings
        request = opened.request
        self._loop = surroundings.loop
        self._surroundings = surroundings
        self._is_native = request.get("native") is True
        self._pids = _python_processes(surroundings.settings.task)
        self._own = ""  # our directory for a tool that was sent
        self._received = 0
        self._tool = _find(surroundings.env)
        self._child: Child | None = None
        self._printed: PrintedStacks | None = None
        self._problem = ""  # with the process that is to print
        self._timer: Timer | None = None
        self._attempt = 0
        self._output = b""
        self._error = b""
        self._answers: list[bytes] = []
        self._all_said = False
        if self._tool or not self._pids or request.get("has_tool") is not True:
            self._next()
        else:
            self._say({"needs_tool": True})

    # The tool, if it comes over the channel

    def take(self, data: bytes) -> None:
        self._received += len(data)
        if self._received <= LARGEST_TOOL and not self._tool:
            try:
                self._store(data)
            except OSError as error:
                return self._fail(f"no room for {TOOL}: {error.strerror}")
        self.channel.took(len(data))

    def _store(self, data: bytes) -> None:
        if not self._own:
            place = self._surroundings.env.get(TASK_DIR) or self._surroundings.cwd
            self._own = os.path.join(place, f".tfmesos-stacks-{self.channel.number}-{os.getpid()}")
            self._surroundings.get_guard().remove_later(self._own)
            os.mkdir(self._own, 0o700)
        with open(os.path.join(self._own, TOOL), "ab") as file:
            file.write(data)

    def end_of_input(self) -> None:
        if self._own and not self._tool:
            self._tool = os.path.join(self._own, TOOL)
            os.chmod(self._tool, 0o700)
            self._next()

    # One process after the other

    @careful
    def _next(self) -> None:
        self._attempt = 0
        if not self._pids:
            self._all_said = True
            return self.has_room()
        if self._tool:
            return self._look()
        if self._is_native:
            return self._fail(NO_NATIVE)
        self._do_without(NO_TOOL)

    def _look(self) -> None:
        self._attempt += 1
        self._output = self._error = b""
        how = "--native" if self._is_native else "--nonblocking"
        argv = [self._tool, "dump", "--json", how, "--pid", str(self._pids[0])]
        env = {**self._surroundings.env, MARK: f"{self.channel.number}"}
        try:
            guard = self._surroundings.get_guard()
            child = Child(self._loop, guard, argv, env, self._surroundings.cwd, self._read)
        except (OSError, ValueError) as error:
            return self._do_without(f"{TOOL}: {error}")
        self._child = child
        self._timer = self._loop.after(TOOL_TIME, child.kill)
        child.on_end = self._looked
        if child.ended:
            self._looked()

    def _read(self, stream: str, data: bytes) -> None:
        if stream == "stdout":
            self._output = (self._output + data)[:LONGEST_OUTPUT]
        else:
            self._error = (self._error + data)[:LONGEST_OUTPUT]

    @careful
    def _looked(self) -> None:
        child = self._child
        if child is None:
            return
        self._child = None
        if self._timer is not None:
            self._timer.cancel()
        threads = None if child.returncode else _threads(_read_json(self._output))
        if threads:
            return self._tell("", threads)
        if self._attempt < ATTEMPTS and child.returncode >= 0 and _exists(self._pids[0]):
            return self._look()
        killed = f"{TOOL} did not answer" if child.returncode < 0 else ""
        self._do_without(killed or _reason(self._error))

    def _do_without(self, problem: str) -> None:
        """py-spy cannot be used, because of *problem*: let the process print its stacks."""
        if self._is_native or not can_print(self._pids[0]):
            return self._tell(problem)
        self._problem = f"{problem}; and it printed no stacks at {SIGNAL_NAME}"
        output = self._surroundings.output
        self._printed = PrintedStacks(self._loop, output, self._pids[0], self._printed_all)

    @careful
    def _printed_all(self) -> None:
        if self._printed is None:
            return
        found = threads(self._printed.text)
        self._printed = None
        self._tell("", _threads(found)) if found else self._tell(self._problem)

    def _tell(self, problem: str, threads: list[Any] | None = None) -> None:
        """Report the process that was examined, then continue."""
        pid = self._pids.pop(0)
        about: dict[str, Any] = {"pid": pid, "command": _command_line(pid)}
        if threads is None:
            about.update(problem=problem[:LONGEST_LINE], **_of_kernel(pid))
        else:
            about["threads"] = threads
        self._say(about)
        self._loop.after(0, self._next)

    # What it says

    def _say(self, about: Mapping[str, Any]) -> None:
        self._answers.append(json.dumps(about).encode() + b"\n")
        self.has_room()

    def has_room(self) -> None:
        while self._answers and self.channel.room > 0:
            part, rest = _cut(self._answers.pop(0), self.channel.room)
            if rest:
                self._answers.insert(0, rest)
            self.channel.write(part)
        if self._all_said and not self._answers and not self.is_over:
            self._clean()
            self.done()

    def _fail(self, problem: str) -> None:
        self.leave()
        self.done(1, problem)

    def leave(self) -> None:
        self._pids = []
        child = self._child
        self._child = None
        if child is not None:
            child.kill()
        if self._printed is not None:
            self._printed.cancel()
            self._printed = None
        self._clean()

    def _clean(self) -> None:
        if self._own:
            held_directory.remove(self._own)


def _cut(data: bytes, size: int) -> tuple[bytes, bytes]:
    return data[:size], data[size:]


def _find(env: Mapping[str, str]) -> str:
    """Looks on this node: on the PATH of the task, or beside our Python."""
    places = [*env.get("PATH", "").split(os.pathsep), os.path.dirname(sys.executable)]
    paths = (os.path.join(place, TOOL) for place in places if place)
    return next((path for path in paths if os.access(path, os.X_OK)), "")


def _python_processes(task: str) -> list[int]:
    """The Python processes of the task, without those that its owner started beside it."""
    mark, beside = f"\0{process.MARK}={task}\0".encode(), f"\0{MARK}=".encode()
    found = []
    for pid in sorted(process.pids()):
        environment = process.environment(pid)
        if mark in environment + b"\0" and beside not in environment and _is_python(pid):
            found.append(pid)
    return found[:MOST_PROCESSES]


def _is_python(pid: int) -> bool:
    try:
        return "python" in os.path.basename(os.readlink(f"/proc/{pid}/exe"))
    except OSError:
        return False


def _exists(pid: int) -> bool:
    return os.path.exists(f"/proc/{pid}")


def _command_line(pid: int) -> str:
    words = _of_proc(pid, "cmdline").decode("utf-8", "backslashreplace").split("\0")
    return " ".join(filter(None, words))[:LONGEST_LINE]


def _of_kernel(pid: int) -> dict[str, str]:
    """What the kernel reports: its state, and the kernel function in which it waits."""
    lines = _of_proc(pid, "status").decode("utf-8", "replace").split("\n")
    values = dict(line.split(":\t", 1) for line in lines if ":\t" in line)
    waits = _of_proc(pid, "wchan").decode("ascii", "replace")
    return {"state": values.get("State", "it has ended"), "waits": waits.strip("0")}


def _of_proc(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


def _read_json(output: bytes) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        return None


def _threads(found: Any) -> list[Any] | None:
    """From the output of py-spy: the name of each thread and its frames, the innermost first."""
    try:
        return [
            {
                "name": str(thread.get("thread_name") or ""),
                "is_main": thread.get("os_thread_id") == thread.get("pid"),
                "frames": [_frame(frame) for frame in thread["frames"][:MOST_FRAMES]],
            }
            for thread in found[:MOST_THREADS]
        ]
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _frame(frame: Mapping[str, Any]) -> list[Any]:
    """Its function, file and line, and whether it belongs to the user's own code."""
    path = str(frame["filename"])
    is_source = path.endswith(".py") or path in ("<string>", "<stdin>")
    is_own = is_source and "/lib/python" not in path and "-packages/" not in path
    return [str(frame["name"]), str(frame["short_filename"] or path), int(frame["line"]), is_own]


def _reason(error: bytes) -> str:
    """The first line of py-spy's error: its own stack follows."""
    lines = error.decode("utf-8", "backslashreplace").strip().split("\n")
    return f"{TOOL}: {lines[0]}" if lines[0] else f"{TOOL} found no Python code"
