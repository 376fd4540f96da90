"""Ports that nobody else on this machine is given meanwhile.

They are below those that the kernel gives to connections and listeners, and each worker of
pytest-xdist has its own.
"""

from __future__ import annotations

import itertools
import os
import random
import socket

WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
PORTS = range(20000, 30000)[WORKER::10]
OFFERED_PORTS = range(10000 + 1000 * WORKER, 11000 + 1000 * WORKER)
COUNT = 20  # ports that an agent offers

_first_ports = itertools.cycle(random.sample(OFFERED_PORTS[::COUNT], 1000 // COUNT))


def free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


def offered_ports() -> str:
    """A range of ports for an agent's resources that no other agent here has."""
    first = next(_first_ports)
    return f"ports:[{first}-{first + COUNT - 1}]"
