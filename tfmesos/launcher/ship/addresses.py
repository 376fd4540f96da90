"""What is shipped from addresses: fetched first, unpacked for as long as it is being packed."""

from __future__ import annotations

import asyncio
import os
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import IO, TypeVar

from ...config.shipping import Ship
from ...errors import CannotWrite
from .fetch import fetch, unpack_code

T = TypeVar("T")
Fetched = Mapping[str, IO[bytes]]  # by address


async def fetch_all(ship: Ship) -> Fetched:
    """Raises CannotRead for the first that cannot be fetched."""
    return await _in_daemon_thread(lambda: {one: fetch(one) for one in ship.addresses})


async def _in_daemon_thread(work: Callable[[], T]) -> T:
    """As asyncio.to_thread, but a thread that waits for a server keeps nobody from ending."""
    future: Future[T] = Future()

    def run() -> None:
        future.set_running_or_notify_cancel()
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(future)


@contextmanager
def on_disk(ship: Ship, fetched: Fetched) -> Iterator[Ship]:
    """*ship*, with files of this machine in the place of addresses, until the block is left."""
    try:
        with tempfile.TemporaryDirectory(prefix="tfmesos-") as place:
            yield _written(ship, fetched, place)
    finally:
        for file in fetched.values():
            file.close()


def _written(ship: Ship, fetched: Fetched, place: str) -> Ship:
    code, single = os.path.join(place, "code"), os.path.join(place, "files")
    try:
        os.mkdir(code)
        os.mkdir(single)
        if ship.address:
            unpack_code(ship.address, fetched[ship.address], code)
        files = [_one_written(name, at, fetched, single) for at, name in ship.files]
    except OSError as error:
        raise CannotWrite(f"no room here for what is shipped: {error.strerror}") from error
    return ship.but(directory=code if ship.address else ship.directory, files=tuple(files))


def _one_written(name: str, address: str, fetched: Fetched, place: str) -> tuple[str, str]:
    if address not in fetched:
        return address, name
    path = os.path.join(place, name.replace("/", "-"))
    with open(path, "wb") as file:
        file.write(fetched[address].read())
    return path, name
