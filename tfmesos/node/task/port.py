"""A port that is held for a program until the program itself listens on it."""

from __future__ import annotations

import errno

from ...errors import PORT_TAKEN
from ...shared.stdlib import socket

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ...shared.process import Ending

NOT_PERMITTED = 77  # EX_NOPERM


def reserve(family: int, port: int = 0) -> socket.socket:
    """Hold *port* (0: any free one) so that nobody else gets it.

    Bound but not listening, and with SO_REUSEADDR: a server that sets the same option, as
    TensorFlow's does, can bind beside it. The caller closes it.
    """
    reservation = socket.socket(family, socket.SOCK_STREAM)
    try:
        reservation.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reservation.bind(("", port))
    except OSError:
        reservation.close()
        raise
    return reservation


class Port:
    """The port of a task, and our hold on it."""

    def __init__(self, family: int, wanted: int = 0, is_wish: bool = False) -> None:
        """Any free port, or the *wanted* one: OSError if that is taken.

        If it is only a preference, another port is used then, and ``remark`` says so.
        """
        self._held: list[socket.socket] = []
        self.remark = ""
        try:
            self._hold(family, wanted)
        except OSError as error:
            self.close()
            if not is_wish:
                raise
            self._hold(family, 0)
            why = error.strerror or error
            self.remark = f"could not get port {wanted} ({why}): using {self.number} instead"

    def _hold(self, family: int, wanted: int) -> None:
        if wanted:  # two runners could hold the same port, but cannot have the same name
            self._held.append(socket.socket(socket.AF_UNIX))
            self._held[0].bind(f"\0tfmesos-port-{wanted}")
        self.socket = reserve(family, wanted)
        self._held.append(self.socket)
        self.number = self.socket.getsockname()[1]

    def __enter__(self) -> None:
        """For the length of a block."""

    def __exit__(self, *_: object) -> None:
        self.close()

    def release(self) -> None:
        """Release it to a program that binds it without SO_REUSEADDR; other runners keep off."""
        self.socket.close()

    def close(self) -> None:
        while self._held:
            self._held.pop().close()


def refusal(number: int, error: OSError) -> Ending:
    """The end of a task that could not get this port. A taken port may become free."""
    code = NOT_PERMITTED if error.errno == errno.EACCES else PORT_TAKEN
    return code, f"could not get port {number}: {why_refused(number, error)}"


def why_refused(number: int, error: OSError) -> str:
    """What the system says, and who has the port, if known."""
    from .port_holder import holder  # most ports are free

    who = holder(number) if error.errno == errno.EADDRINUSE else ""
    return f"{error.strerror} by {who}" if who else f"{error.strerror or error}"
