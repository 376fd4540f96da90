"""Which process has a port, as far as Linux tells this user."""

from __future__ import annotations

import os

from ...shared import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = 3  # of a command line that are shown; secrets come later in it, if at all


def holder(port: int) -> str:
    """``pid 4711 (python -m http.server)``, or nothing if unknown."""
    inodes = {*listening_sockets(port), *_held_by_runners(port)}
    if not inodes:
        return ""
    for pid in process.pids():
        if _has(pid, inodes):
            return f"pid {pid} ({_command(pid)})"
    return "a process of another user"


def listening_sockets(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen there, at whatever address."""
    for line in (*_lines("/proc/net/tcp"), *_lines("/proc/net/tcp6")):
        fields = line.split()
        if fields[1].endswith(f":{port:04X}") and fields[3] == "0A":
            yield fields[9]


def _held_by_runners(port: int) -> Iterator[str]:
    """The same for sockets that a runner holds besides (see Port)."""
    for line in _lines("/proc/net/unix"):
        if line.endswith(f" @tfmesos-port-{port}"):
            yield line.split()[6]


def _lines(path: str) -> list[str]:
    try:
        with open(path) as file:
            return file.read().splitlines()[1:]
    except OSError:
        return []


def _has(pid: int, inodes: set[str]) -> bool:
    try:
        opened = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for fd in opened:
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:[") and target[8:-1] in inodes:
            return True
    return False


def _command(pid: int) -> str:
    """The program and what it runs; no flags and no assignments, which may hold a secret."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            program, *words = file.read(4096).decode("utf-8", "replace").split("\0")
    except OSError:
        return "?"
    shown = [os.path.basename(program)]
    for word in words[: WORDS - 1]:
        if word != "-m" and (word.startswith("-") or "=" in word or "://" in word):
            break
        shown.append(word)
    return " ".join(shown).strip()
