"""Ports that nobody else on this machine is given meanwhile.

They are below those that the kernel gives to connections and listeners. Each process of tests has
its own, also beside the tests of somebody else, for as long as it lives.
"""

from __future__ import annotations

import itertools
import random
import socket

EACH = 400  # ports of a process of tests
COUNT = 20  # of them that an agent offers


def _claim(ports: range) -> tuple[range, socket.socket | None]:
    """A part of *ports* that is ours, and what holds it: a name that only one process can have."""
    parts = [ports[at : at + EACH] for at in range(0, len(ports), EACH)]
    for part in random.sample(parts, len(parts)):
        holder = socket.socket(socket.AF_UNIX)
        try:
            holder.bind(f"\0tests-of-tfmesos-{part[0]}")
            return part, holder
        except OSError:
            holder.close()
    return random.choice(parts), None  # with so many beside us, chance has to do


PORTS, _ports_held = _claim(range(20000, 30000))
OFFERED_PORTS, _offered_held = _claim(range(10000, 20000))

_ports = itertools.cycle(random.sample(PORTS, EACH))
_first_ports = itertools.cycle(random.sample(OFFERED_PORTS[::COUNT], EACH // COUNT))


def free_port() -> int:
    """Another one each time, and none where a connection that has ended is still in the way."""
    for port in _ports:
        with socket.socket() as probe:
            try:
                probe.bind(("", port))
            except OSError:
                continue
            return port
    raise AssertionError("the ports have no end")


def offered_ports() -> str:
    """A range of ports for an agent's resources that no other agent here has."""
    first = next(_first_ports)
    return f"ports:[{first}-{first + COUNT - 1}]"
