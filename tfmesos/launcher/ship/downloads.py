"""Downloads of what is shipped from URLs, unpacked while the pack is being made."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import IO

from ...config.ship_settings import Ship
from ...errors import CannotWrite
from . import fetch

Fetched = Mapping[str, IO[bytes]]  # by address
MARGIN = 1.0  # seconds, for whoever notices first can say more


async def fetch_all(ship: Ship) -> Fetched:
    """Raises CannotRead for the first address that cannot be fetched."""
    return {address: await _fetch(address) for address in ship.addresses}


async def _fetch(address: str) -> IO[bytes]:
    """The time limit includes name resolution, headers and redirects."""
    try:
        async with asyncio.timeout(fetch.WHOLE_TIMEOUT + MARGIN):
            return await asyncio.to_thread(fetch.fetch, address)
    except TimeoutError:
        raise fetch.too_slow(address) from None


@contextmanager
def on_disk(
    ship: Ship, fetched: Fetched, place: str, is_stopped: Callable[[], bool] = lambda: False
) -> Iterator[Ship]:
    """*ship*, with files in the directory *place* instead of addresses."""
    try:
        yield _written(ship, fetched, place, is_stopped)
    finally:
        for file in fetched.values():
            file.close()


def _written(ship: Ship, fetched: Fetched, place: str, is_stopped: Callable[[], bool]) -> Ship:
    code, single = os.path.join(place, "code"), os.path.join(place, "files")
    try:
        os.mkdir(code)
        os.mkdir(single)
        if ship.address:
            fetch.unpack_code(ship.address, fetched[ship.address], code, is_stopped)
        files = [_one_written(name, at, fetched, single) for at, name in ship.files]
    except OSError as error:
        raise CannotWrite(f"no room here for the shipped files: {error.strerror}") from error
    return ship.replace(directory=code if ship.address else ship.directory, files=tuple(files))


def _one_written(name: str, address: str, fetched: Fetched, place: str) -> tuple[str, str]:
    if address not in fetched:
        return address, name
    path = os.path.join(place, name.replace("/", "-"))
    with open(path, "wb") as file:
        file.write(fetched[address].read())
    return path, name
