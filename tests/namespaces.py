"""Network namespaces: two with a cable between them and an ear at it, and one with one way out."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mesos.genuine.conftest import unavailable

HERE, THERE = "10.203.0.1", "10.203.0.2"
COAST, ISLAND = "10.203.1.1", "10.203.1.2"

# Writes each packet that passes, with its length before it, until its standard input ends.
EAR = """
import select, socket, sys
ear = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * 2**20)
ear.bind((sys.argv[1], 0))
print("ready", flush=True)
with open(sys.argv[2], "wb") as file:
    while True:
        ready, _, _ = select.select([ear, sys.stdin], [], [])
        if ear in ready:
            packet = ear.recv(2**17)
            file.write(len(packet).to_bytes(4, "big") + packet)
        elif ready:
            break
"""


@dataclass(frozen=True)
class Cable:
    """``inside`` is what goes before a command to run it at one of the two ends."""

    here: str
    there: str
    device: str
    far_device: str

    def inside(self, end: str) -> list[str]:
        return ["ip", "netns", "exec", end]

    def machine(self, end: str, hostname: str) -> list[str]:
        """As ``inside``, on a machine of that name."""
        script = 'hostname "$0" && exec "$@"'
        return [*self.inside(end), "unshare", "--uts", "sh", "-c", script, hostname]

    def move(self, address: str, *, back: bool = False) -> None:
        """Have an *address* at the far end; *back*: at the near one."""
        ends = [(self.here, self.device), (self.there, self.far_device)]
        (old, its_device), (new, device) = reversed(ends) if back else ends
        gone = ["ip", "-n", old, "address", "del", f"{address}/24", "dev", its_device]
        subprocess.run(gone, capture_output=True)  # it may not have been there
        ip("-n", new, "address", "add", f"{address}/24", "dev", device)
        ip("-n", old, "neigh", "flush", "dev", its_device)


@contextmanager
def cable() -> Iterator[Cable]:
    if os.geteuid() != 0 or not shutil.which("ip"):
        unavailable("no network namespaces can be made here: that needs root and iproute2")
    number = os.getpid()
    other = f"tfm{number}b"
    made = Cable(f"tfmesos-{number}-a", f"tfmesos-{number}-b", f"tfm{number}a", other)
    try:
        for end in (made.here, made.there):
            ip("netns", "add", end)
            ip("-n", end, "link", "set", "lo", "up")
        ip(
            *("-n", made.here, "link", "add", made.device, "type", "veth"),
            *("peer", "name", other, "netns", made.there),
        )
        for end, device, address in [(made.here, made.device, HERE), (made.there, other, THERE)]:
            ip("-n", end, "address", "add", f"{address}/24", "dev", device)
            ip("-n", end, "link", "set", device, "up")
        yield made
    finally:
        for end in (made.here, made.there):
            subprocess.run(["ip", "netns", "del", end], capture_output=True)


@contextmanager
def island() -> Iterator[list[str]]:
    """A network namespace from which only this machine can be reached, at COAST.

    What goes before a command to run it there.
    """
    if os.geteuid() != 0 or not shutil.which("ip"):
        unavailable("no network namespaces can be made here: that needs root and iproute2")
    name, device = f"tfmesos-{os.getpid()}-i", f"tfm{os.getpid()}i"
    try:
        ip("netns", "add", name)
        ip("-n", name, "link", "set", "lo", "up")
        ip("link", "add", device, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("address", "add", f"{COAST}/24", "dev", device)
        ip("link", "set", device, "up")
        ip("-n", name, "address", "add", f"{ISLAND}/24", "dev", "eth0")
        ip("-n", name, "link", "set", "eth0", "up")
        yield ["ip", "netns", "exec", name]
    finally:
        subprocess.run(["ip", "link", "del", device], capture_output=True)
        subprocess.run(["ip", "netns", "del", name], capture_output=True)


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    if done.returncode:
        unavailable(f"no network namespaces can be made here: ip {words}: {done.stderr}")


@contextmanager
def overheard(between: Cable, file: Path) -> Iterator[None]:
    """Write all that passes between the two ends into *file*."""
    command = [*between.inside(between.here), sys.executable, "-c", EAR, between.device, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as ear:
        assert ear.stdin and ear.stdout and ear.stdout.readline() == "ready\n"
        yield
        ear.stdin.close()
        assert ear.wait() == 0


def streams(file: Path) -> Sequence[bytes]:
    """What each side of each TCP connection said, without the headers of the packets."""
    found: dict[bytes, bytearray] = defaultdict(bytearray)
    captured, at = file.read_bytes(), 0
    while at < len(captured):
        size = int.from_bytes(captured[at : at + 4], "big")
        packet, at = captured[at + 4 : at + 4 + size], at + 4 + size
        if packet[12:14] == b"\x08\x00" and packet[23] == 6:  # TCP over IPv4
            tcp = 14 + 4 * (packet[14] & 15)
            end = 14 + int.from_bytes(packet[16:18], "big")
            payload = packet[tcp + 4 * (packet[tcp + 12] >> 4) : end]
            found[packet[26:34] + packet[tcp : tcp + 4]] += payload
    return [bytes(stream) for stream in found.values()]
