"""The link to one runner, across all its connections: what has arrived, and what has not."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from typing import Any

from ...node.process.tail import Tail
from ...shared import wire
from .exchange import Holder
from .messages import ack_message, bye_message, welcome_message

SECRET_BYTES = 32
FIRST = Holder()
ACK_EVERY = 8  # messages; of output they are half a MiB, and the runner holds eight
ACK_WITHIN = 0.1  # seconds, if much keeps coming: the runner measures our pace by this
MUCH = 16 * 1024  # bytes; less does not fill a runner's buffer
ONCE = frozenset(["register", "ready", "held", "exit"])  # what a runner reports at most once
FULL = 64 * 1024  # bytes that wait to be sent; a heartbeat is left out then


class RunnerLink:
    """One connection at a time speaks for the task; counted messages survive its change."""

    def __init__(
        self,
        task_id: str,
        secret: bytes,
        settings: Mapping[str, Any],
        later_secret: bytes | None = None,
        awaits_record: bool = False,
    ) -> None:
        self.task_id = task_id
        self.settings = settings
        self.first_secret: bytes | None = secret  # until the runner has reported
        # for further connections
        self.secret: bytes | None = later_secret or os.urandom(SECRET_BYTES)
        self._awaits_record = awaits_record
        self._recorded = 0  # numbered messages of the runner that are recorded
        self._known = 0  # messages that come again, and were taken before
        self._reported: set[str] = set()  # kinds of reports that come once
        self.writer: asyncio.StreamWriter | None = None  # the connection that speaks for it
        self.received = 0  # numbered messages of the runner
        # those of them that it has received, and when
        self._acked = 0
        self._acked_at = 0.0
        self._unacked = 0  # bytes that came since
        self.order = asyncio.Lock()  # keeps the order of messages over a change of connection
        self.has_begun = False
        self.exited = False  # has it reported its end, so that nothing else will come?
        self.is_silent = False
        self._sent: list[bytes] = []  # numbered messages to the runner, arrived or not
        self.is_dismissed = False
        self._is_closing = False  # what it holds is still received, but makes no room for more
        self.tail = Tail()  # the last lines that it brought
        self._loss: asyncio.TimerHandle | None = None

    def send(self, frame: bytes) -> None:
        """Deliver *frame* to the runner, now or when it is back."""
        self._sent.append(frame)
        self._write(frame)

    def begin(self) -> None:
        """Its command may have written something from now on."""
        self.has_begun = True

    def take_in(self, kind: str, *, numbered: bool) -> bool:
        """A message arrived, so the runner has its second secret.

        False if the message was received before.
        """
        self.first_secret = None
        if numbered and self._known:
            self._known -= 1
            return False
        self.received += numbered
        self.has_begun = self.has_begun or (numbered and kind != "register")
        return kind not in self._reported

    def told(self, kind: str) -> None:
        """A valid message of this kind arrived."""
        if kind in ONCE:
            self._reported.add(kind)
        self.exited = self.exited or kind == "exit"

    def recall(self, kind: str) -> None:
        """An earlier launcher received this. Earlier messages may still have to be recalled."""
        self._reported.add(kind)
        self.has_begun = self.has_begun or kind != "register"

    @property
    def task(self) -> str:
        """Its name, whatever the attempt."""
        return f"{self.settings.get('job')}:{self.settings.get('index')}"

    @property
    def is_private(self) -> bool:
        """Does the task listen where only processes on its node can reach it?"""
        return bool(self.settings.get("is_private"))

    @property
    def has_reported(self) -> bool:
        return bool(self._reported)

    @property
    def is_refused(self) -> bool:
        return self.secret is None

    @property
    def has_told_end(self) -> bool:
        return "exit" in self._reported

    def resume(self, received: int, is_all: bool) -> None:
        """An earlier launcher has recorded this many messages, or all of them."""
        self.received = received
        self._recorded = received
        self.exited = is_all
        if self._reported:
            self.first_secret = None

    def lacks(self, received: int, is_all: bool) -> bool:
        """Were more of its messages recorded than have been recalled?"""
        return (received > 0 and not self.has_reported) or (is_all and not self.has_told_end)

    def was_sent(self, arrived: int) -> bool:
        """Can this many of our messages have arrived?"""
        return arrived <= len(self._sent)

    @property
    def safe(self) -> int:
        """How many numbered messages of the runner are safely recorded."""
        return self._recorded if self._awaits_record else self.received

    def recorded(self, number: int) -> None:
        """The first *number* messages are recorded."""
        self._recorded = max(self._recorded, number)
        self.acknowledge_if_due(0)
        self._say_bye()

    def has_changed_silence(self, is_silent: bool) -> bool:
        """Record whether the task is silent; returns whether that has changed."""
        before = self.is_silent
        self.is_silent = is_silent
        return before != is_silent

    def disconnect(self, writer: asyncio.StreamWriter) -> bool:
        """This connection is over. False if another one speaks for the task already."""
        if self.writer is not writer:
            return False
        self.writer = None
        return True

    def dismiss(self) -> None:
        """Dismiss the runner if it has reported its end; repeated calls do nothing."""
        if self.has_told_end and not self.is_dismissed:
            self.is_dismissed = True
            self._say_bye()

    @property
    def is_heard_out(self) -> bool:
        """Is everything recorded that the runner has to report?"""
        return self.exited and self.safe == self.received

    def _say_bye(self) -> None:
        if self.is_dismissed and self.is_heard_out:
            self._write(wire.encode(bye_message()))

    def welcome(self, writer: asyncio.StreamWriter, arrived: int, holder: Holder = FIRST) -> None:
        """From now on this connection speaks for the task. *arrived* of our messages did."""
        if self.writer is not None:
            self.writer.transport.abort()
        self.writer = writer
        self.expect_loss(None)
        assert self.secret is not None, "who was refused has proved nothing"
        settings = None if self.first_secret is None else self.settings
        self._known = self.received - self.safe  # will be sent again, for safety
        told = {"epoch": holder.epoch, "holder": holder.name} if self._awaits_record else {}
        self._write(wire.encode({**welcome_message(self.safe, self.secret, settings), **told}))
        for frame in self._sent[arrived:]:
            self._write(frame)
        self._say_bye()

    def acknowledge_if_due(self, size: int) -> None:
        """After another *size* bytes.

        The next heartbeat reports the rest: reporting every read would cost as much as reading.
        """
        self._unacked += size
        is_due = self.safe - self._acked >= ACK_EVERY
        if self._unacked >= MUCH and not is_due:
            is_due = asyncio.get_running_loop().time() - self._acked_at >= ACK_WITHIN
        if is_due:
            self.acknowledge()

    def stop_acknowledging(self) -> None:
        """The runner is to send no more than it holds now."""
        self._is_closing = True

    def acknowledge(self) -> None:
        """Report what has arrived, which is also our heartbeat; the next makes up for a loss."""
        if (
            self.writer is None
            or self._is_closing
            or self.writer.transport.get_write_buffer_size() > FULL
        ):
            return
        self._acked = self.safe
        self._acked_at = asyncio.get_running_loop().time()
        self._unacked = 0
        self._write(wire.encode(ack_message(self.safe)))

    def _write(self, frame: bytes) -> None:
        if self.writer is not None and not self.writer.is_closing():
            self.writer.write(frame)

    @property
    def is_missed(self) -> bool:
        """Has it no connection, so that it may soon count as lost?"""
        return self._loss is not None

    def expect_loss(self, timer: asyncio.TimerHandle | None) -> None:
        if self._loss is not None:
            self._loss.cancel()
        self._loss = timer

    def refuse(self) -> None:
        """Accept no more connections for this task."""
        self.first_secret = self.secret = None
        self.close()

    def close(self) -> None:
        self.expect_loss(None)
        writer = self.writer
        self.writer = None
        if writer is not None:
            writer.close()
