"""Who holds a run answers another launcher of it, and nobody else."""

from __future__ import annotations

import asyncio
import logging
import socket

import pytest

from tests.bounds import HANG
from tests.runners import RUN, launcher
from tfmesos.engines.certificate import make_certificate, tls_of
from tfmesos.launcher.links import present_holder as module
from tfmesos.launcher.links.exchange import Holder
from tfmesos.launcher.links.present_holder import present_holder
from tfmesos.shared import link_timeouts
from tfmesos.shared.address import join_address

KNOWN = b"k" * 32
LIVING = Holder(2, "login-1 (pid 7)", KNOWN)


def found(*, holder=LIVING, tls=None, secret=KNOWN, run=RUN):
    async def main():
        async with asyncio.timeout(HANG), launcher(holder=holder, tls=tls) as ours:
            address = join_address(*ours.address)
            return await present_holder(address, run, secret, has_tls=tls is not None)

    return asyncio.run(main())


def test_a_launcher_that_lives_says_who_it_is_and_complains_about_nothing(caplog):
    caplog.set_level(logging.DEBUG)
    assert found() == "login-1 (pid 7)"
    assert [it.getMessage() for it in caplog.records if it.name.startswith("tfmesos")] == []


def test_it_does_so_inside_tls():
    tls, _ = tls_of(make_certificate("run-1", "link_tls"))
    assert found(tls=tls) == "login-1 (pid 7)"


@pytest.mark.parametrize(
    "stranger", [{"secret": b"w" * 32}, {"run": "another"}, {"holder": Holder(1, "here")}]
)
def test_whoever_does_not_know_the_secret_of_the_run_learns_nothing(stranger):
    assert found(**stranger) == ""


def test_where_nobody_listens_or_answers_nobody_holds_it(monkeypatch):
    """A launcher that is stopped still has a port at which the kernel listens."""
    monkeypatch.setattr(link_timeouts, "SILENCE_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = join_address(*silent.getsockname())
        assert asyncio.run(present_holder(address, RUN, KNOWN)) == ""
    assert asyncio.run(present_holder(address, RUN, KNOWN)) == ""


@pytest.mark.parametrize("words", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\0\0\2{}", b""])
def test_another_server_there_is_no_launcher(words):
    async def main():
        async def answer(reader, writer):
            writer.write(words)
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with asyncio.timeout(HANG), server:
            address = join_address(*server.sockets[0].getsockname())
            return await present_holder(address, RUN, KNOWN)

    assert asyncio.run(main()) == ""


def test_no_task_can_be_called_as_the_one_who_asks():
    assert "-" not in module.ASKING  # as there is in the id of each task
