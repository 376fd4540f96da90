"""The parts of a ``Listener``: callbacks for reports of runners, what they are sent, and limits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from ...acceptor import MAX_STRANGERS
from ...core.events import Event
from ...record import NOTHING, Record
from ...shared import link_timeouts
from .collected_files import Brought
from .usage import Usage

if TYPE_CHECKING:
    from ..ship.pack import Pack

# Gets (task id, stream, whole lines, number of lines dropped before them) and the number of the
# message, 0 for one that is not counted; the runner is read no further until it returns.
Output = Callable[[str, str, str, int, int], Awaitable[None]]


class Sinks(Record):
    """Callbacks for what runners report; only *output* may wait."""

    emit: Callable[[Event], None]
    output: Output
    measured: Callable[[str, Usage], object] = lambda task_id, usage: None
    progressed: Callable[[str, str], object] = lambda task_id, text: None  # a progress bar, as text
    collected: Brought = Brought(None, 0, str)  # files
    # The number of any other message, and whether the runner has no more to say:
    counted: Callable[[str, int, bool], object] = lambda task_id, number, is_last: None
    superseded: Callable[[str], object] = lambda holder: None  # by this launcher
    # A runner has received more from earlier launchers than this one knows of:
    lacks_past: Callable[[str], object] = lambda task_id: None
    say: Callable[[str, str], object] = lambda text, level: None  # to the user


class Holder(Record):
    """The launcher that holds the run, as runners know it."""

    epoch: int = 1  # how many launchers the run has had; runners obey the latest
    name: str = ""  # where it is
    secret: bytes | None = None  # by which other launchers of the run may ask for it


class Supplies(Record):
    """What is sent to runners."""

    get_runners: Callable[[], Mapping[str, bytes]] = lambda: NOTHING  # what a stub becomes
    packs: Mapping[str, Pack] = NOTHING  # by the name under which runners ask for them
    on_sent: Callable[[str, int], object] = lambda task_id, at: None  # this many bytes of a pack


class Limits(Record):
    """How long a listener waits, in seconds, and how many peers it holds."""

    grace: float = link_timeouts.RECONNECT_TIMEOUT  # for a runner without a connection
    heartbeat: float = link_timeouts.HEARTBEAT
    silence: float = link_timeouts.SILENCE_TIMEOUT  # of a connection
    silent_after: float = link_timeouts.OUTPUT_SILENCE  # without output a task counts as silent
    handshake: float = link_timeouts.HANDSHAKE_TIMEOUT
    strangers: int = MAX_STRANGERS  # besides those who are expected
    awaits_record: bool = False  # is a message acknowledged only after it is recorded?
