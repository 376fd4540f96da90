"""The keys of a run: the secrets that the next launcher needs to continue it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Collection, Mapping

from ..engines.listening import CERTIFICATE, LAUNCHER
from ..shared.stdlib import hmac_sha256
from .links.exchange import Holder
from .links.present_holder import ASKING, present_holder

SECRET_BYTES = 32
GONE = "gone"


class Keys:
    """Secrets of the tasks, and what an engine must find again; *on_change* writes them down.

    ``epoch`` counts the launchers of the run: whoever has a higher one holds it.
    """

    def __init__(
        self,
        values: Mapping[str, str] | None = None,
        epoch: int = 1,
        on_change: Callable[[Mapping[str, str]], object] = lambda values: None,
    ) -> None:
        self._values = dict(values or {})
        self._on_change = on_change
        self.epoch = epoch
        self._values.setdefault("secret", os.urandom(SECRET_BYTES).hex())

    @property
    def values(self) -> Mapping[str, str]:
        return self._values

    @property
    def gone(self) -> Collection[int]:
        """The launchers of the run that are known to have ended, by their epochs."""
        return [int(epoch) for epoch in self._values.get(GONE, "").split()]

    def ended(self, epoch: int) -> None:
        """This launcher of the run has ended, so nobody needs to wait until it falls silent."""
        self.keep(GONE, " ".join(map(str, {*self.gone, epoch})))

    def get(self, name: str) -> str | None:
        return self._values.get(name)

    def keep(self, name: str, value: str) -> None:
        """Keep this for the next launcher."""
        if self._values.get(name) != value:
            self._values[name] = value
            self._on_change(self._values)

    @property
    def holder(self) -> Holder:
        """This process, as a launcher of the run."""
        return Holder(self.epoch, this_launcher(), self.secret_of(ASKING))

    async def other_holder(self, run_id: str) -> str:
        """The launcher that answers where the tasks look for theirs; empty if no other one does."""
        if (address := self.get(LAUNCHER)) is None:
            return ""
        secret, has_tls = self.secret_of(ASKING), self.get(CERTIFICATE) is not None
        found = await present_holder(address, run_id, secret, has_tls=has_tls)
        return (
            "" if not found or found == this_launcher() else f"{found}, which answers at {address}"
        )

    def secret_of(self, *words: str) -> bytes:
        """A separate secret for each sequence of *words*: none of them reveals another."""
        key = bytes.fromhex(self._values["secret"])
        return bytes.fromhex(hmac_sha256(key, "\0".join(words).encode()))


def this_launcher() -> str:
    return f"{socket.gethostname()} (pid {os.getpid()})"
