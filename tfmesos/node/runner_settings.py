"""What the launcher tells a runner about itself: in its stub, and in the welcome."""

from __future__ import annotations

from ..shared import link_timeouts, process
from ..shared.address import split_address
from ..shared.handshake import NOBODY, STUB_SETTINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import MutableMapping, Sequence
    from typing import Any


class Settings:
    """The values of the stub first; ``learn`` adds those of the first welcome."""

    def __init__(self, values: dict[str, Any], secret: bytes) -> None:
        self.secret = secret
        where = str(values["launcher"])
        self.listens = where.startswith(":")  # does the launcher dial us, at this port?
        self.launcher = split_address("127.0.0.1" + where if self.listens else where)
        self.run = str(values["run"])
        self.task = str(values["task"])
        self.mark = {process.MARK: self.task}  # on all that the task starts
        self.secrets: dict[str, Any] = {}
        # The launcher's pid, if it is on this machine:
        self.owner = 0 if values["owner"] == NOBODY else int(values["owner"])
        self.certificate = str(values.get("certificate") or "")  # its hash, if the link uses TLS
        self.connect_timeout = float(values["connect_timeout"])  # seconds
        self.address = str(values.get("address") or "")  # ours, for the others; else as we see it
        self.learn(values)

    def learn(self, values: dict[str, Any]) -> None:
        self.job = str(values.get("job"))
        self.index = int(values.get("index", 0))
        self.name = f"{self.job}:{self.index}"
        # What it is to TensorFlow:
        self.type = str(values.get("type", self.job))
        self.number = int(values.get("number", self.index))
        self.env: dict[str, str] = values.get("env") or {}
        self.packs: dict[str, Any] = values.get("packs") or {}  # what there is to fetch, by name
        self.secrets = values.get("secrets") or {}
        self.bring: list[str] = values.get("bring") or []  # which files go home at the end
        self.bring_limit = int(values.get("bring_limit") or 0)  # bytes
        self.pause = float(values.get("pause") or 0)  # seconds that it is held if it fails
        self.check = str(values.get("check") or "")  # the command that says whether we are fit
        self.check_env: dict[str, str] = values.get("check_env") or {}
        self.port = int(values.get("port") or 0)  # 0: any free one
        self.port_is_wish = bool(values.get("port_is_wish"))  # may it be another one?
        self.is_ready_when_it_listens = bool(values.get("is_ready_when_it_listens"))
        self.is_private = bool(values.get("is_private"))  # does it listen at its loopback?
        self.scratch = str(values.get("scratch") or "")  # to remove if the launcher dies
        # Is the launcher on this machine? Then it is waited for while it is stopped, however long,
        # and so is whoever reads its output.
        self.same_machine = bool(values.get("same_machine"))
        # Has the engine given the task a directory of its own?
        self.has_directory = bool(values.get("has_directory", True))
        self.spills = bool(values.get("spills"))  # is output kept while the launcher is away?
        self.grace = float(values.get("grace", link_timeouts.RECONNECT_TIMEOUT))
        self.stop_grace = float(values.get("stop_grace") or link_timeouts.STOP_GRACE)
        self.stop_signal = str(values.get("stop_signal") or "TERM")
        self.heartbeat = float(values.get("heartbeat", link_timeouts.HEARTBEAT))
        self.silence = float(values.get("silence", link_timeouts.SILENCE_TIMEOUT))


def read_settings(stub: Sequence[str], environ: MutableMapping[str, str]) -> Settings:
    """Take our variables out of *environ*, so that the command cannot see them."""
    del environ["TFMESOS_RUNNER"]
    secret = environ.pop("TFMESOS_SECRET")
    process.erase_from_environment(secret)
    values = dict(zip(STUB_SETTINGS, stub))  # noqa: B905 -- strict= is new in Python 3.10
    values["address"] = environ.pop("TFMESOS_ADDRESS", "")
    return Settings(values, bytes.fromhex(secret))
