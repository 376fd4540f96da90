"""The next launcher listens where the tasks look for it."""

from __future__ import annotations

import asyncio
from errno import EADDRINUSE, EADDRNOTAVAIL

import pytest

from tests.builders import workers
from tfmesos.engines.api import Context
from tfmesos.engines.listening import listen_as_before
from tfmesos.errors import EngineError
from tfmesos.inputs.merging import make_config
from tfmesos.launcher.keys import Keys


class Listener:
    """Is at the port 4711 if any will do, once it had its *errors*."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.asked = []

    async def listen(self, host, port, tls=None):
        self.asked.append((host, port))
        if self.errors:
            raise OSError(self.errors.pop(0), "no")
        return host, port or 4711


async def own_host():
    return "10.0.0.5"


def listened(listener, keys, **settings):
    config = make_config(workers(1), master="mesos:5050", link_tls=False, **settings)
    context = Context(config, "run", print, str, None, keys)
    return asyncio.run(listen_as_before(listener, context, own_host))


def test_the_first_launcher_listens_anywhere_and_the_next_one_at_the_same_place():
    keys, first, second = Keys(), Listener(), Listener(EADDRINUSE)
    assert listened(first, keys) == ("10.0.0.5:4711", "")
    assert listened(second, Keys(keys.values, 2)) == ("10.0.0.5:4711", "")
    assert first.asked == [("10.0.0.5", 0)]
    assert second.asked == [("10.0.0.5", 4711)] * 2  # its port may be taken for a moment


def test_a_launcher_on_another_machine_is_told_at_once_that_it_cannot_be_there():
    keys = Keys({"launcher": "10.0.0.5:4711"}, 2)
    with pytest.raises(EngineError, match=r"their launcher at 10\.0\.0\.5:4711"):
        listened(listener := Listener(EADDRNOTAVAIL), keys)
    assert len(listener.asked) == 1


def test_an_advertised_address_moves_along_to_another_machine():
    keys = Keys({"launcher": "gate.example:4711"}, 2)
    listener = Listener()
    assert listened(listener, keys, advertise="gate.example:4711") == ("gate.example:4711", "")
    assert listener.asked == [("0.0.0.0", 4711)]
