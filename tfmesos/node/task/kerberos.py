"""A Kerberos ticket from a keytab among the secrets of a task: what to run, and when to renew. The
ticket is beside the keytab and is removed with it. This module runs nothing: ``ticket`` does so for
a runner, the launcher for the task of ``--local-chief``.
"""

from __future__ import annotations

import os

from ...shared import process
from .secret_files import CANNOT_WRITE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from ...shared.process import Ending

KEYTAB, CONFIG, CACHE = "krb5.keytab", "krb5.conf", "krb5cc"  # names in the directory of secrets
RENEW_EVERY = 600.0  # seconds, where nobody knows how long a ticket is valid
RETRY_AFTER = 30.0  # seconds after a kinit that failed, while a ticket is there
LONGEST_PAUSE, SHORTEST_PAUSE = 6 * 3600.0, 2.0  # seconds between two calls of kinit
_NO_KINIT = "its node needs the package krb5-user, or krb5-workstation"
_VERSION = b"\x05\x04"  # of the file of a cache, as MIT and Heimdal write it


def argv(directory: str, principal: str) -> list[str]:
    """Into a new cache: kinit empties an old one before it asks."""
    new = os.path.join(directory, CACHE + ".new")
    return ["kinit", "-k", "-t", os.path.join(directory, KEYTAB), "-c", new, principal]


def environment(before: Mapping[str, str], of_secrets: Mapping[str, str]) -> dict[str, str]:
    return {**before, **of_secrets, "LC_ALL": "C"}


def failure(principal: str, ending: Ending, written: str) -> Ending:
    """Exit code of the task, and why it has no ticket, in kinit's words if there are any."""
    code, reason = ending
    lines = [line.strip() for line in written.splitlines() if line.strip()]
    words = lines[-1] if lines else f"kinit {reason}"
    hint = f"; {_NO_KINIT}" if code == 127 else ""
    return code, f"got no Kerberos ticket for {principal}: {words}{hint}"


def could_not_start(principal: str, error: Exception) -> Ending:
    return failure(principal, process.could_not_start("kinit", error), "")


def adopt(directory: str, principal: str, now: float) -> tuple[Ending, float]:
    """Give the task the ticket that kinit got; returns in how many seconds to get the next one."""
    cache = os.path.join(directory, CACHE)
    try:
        os.rename(cache + ".new", cache)
        with open(cache, "rb") as file:
            return (0, ""), pause(end_of_ticket(file.read()), now)
    except OSError as error:  # the command may have removed its directory
        return failure(principal, (CANNOT_WRITE, ""), f"{cache}: {error.strerror}"), RETRY_AFTER


def pause(end: int, now: float) -> float:
    """Half of the remaining lifetime of a ticket."""
    if not end:
        return RENEW_EVERY
    return min(max((end - now) / 2, SHORTEST_PAUSE), LONGEST_PAUSE)


def end_of_ticket(cache: bytes) -> int:
    """When the first ticket of the cache ends, in seconds since 1970; 0 if it does not say."""
    if not cache.startswith(_VERSION):
        return 0
    try:
        return next((end for end in _ends(_Reader(cache)) if end), 0)
    except IndexError:  # it is cut off
        return 0


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 2

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "big")

    def bytes(self, size: int) -> bytes:
        start = self._at
        self._at = self._at + size
        if self._at > len(self._data):
            raise IndexError
        return self._data[start : self._at]

    def skip_block(self, before: int = 0) -> None:
        """Skip bytes that follow their number, which has *before* bytes in front of it."""
        self.bytes(before)
        self.bytes(self.number(4))

    def skip_principal(self) -> None:
        self.bytes(4)
        for _ in range(self.number(4) + 1):  # the realm is one more
            self.skip_block()

    def skip_list(self) -> None:
        """Skip addresses, or authorization data."""
        for _ in range(self.number(4)):
            self.skip_block(2)


def _ends(cache: _Reader) -> Iterator[int]:
    """The end times. Each entry has the client, the server, the key, four times and the ticket."""
    cache.bytes(cache.number(2))  # a header
    cache.skip_principal()
    while True:
        cache.skip_principal()
        cache.skip_principal()
        cache.skip_block(2)
        _, _, end, _ = (cache.number(4) for _ in range(4))
        yield end
        cache.bytes(5)  # flags
        cache.skip_list()
        cache.skip_list()
        cache.skip_block()
        cache.skip_block()
