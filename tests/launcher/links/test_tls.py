"""Links inside TLS: runner and launcher understand each other, and nobody between them does."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from tests.packs import packed, write
from tests.runners import Proxy, Runner, another_python, environment, launcher, runner, settings
from tests.sentences import names
from tfmesos.core.events import TaskExited
from tfmesos.engines.certificate import make_certificate, tls_of
from tfmesos.errors import BAD_SETTINGS, CANNOT_REACH_LAUNCHER, HANDSHAKE_FAILED

WORD = "open-sesame-4711"


@pytest.fixture(scope="module")
def certificate():
    """A context for the listener, and the hash that tasks are told."""
    return tls_of(make_certificate("run-1", "link_tls"))


def run_through_proxy(sandbox, tls, digest, command, python=sys.executable, **more):
    """The launcher, the runner's exit code and what passed between them from the runner."""

    async def main():
        async with launcher(tls=tls) as ours, Proxy(ours.address).running() as proxy:
            proxy.cut_after = more.get("cut_after")
            values = settings(proxy.address, **({"certificate": digest} if digest else {}))
            theirs = Runner(sandbox, environment(values), python)
            try:
                ours.start(command)
                await ours.saw(TaskExited)
                return ours, await theirs.exited(), proxy.recorded
            finally:
                theirs.close()

    return asyncio.run(main())


def test_what_a_command_writes_arrives_and_cannot_be_read_on_the_way(tmp_path, certificate):
    ours, code, passed = run_through_proxy(tmp_path, *certificate, ["echo", WORD])
    assert (code, ours.lines()) == (0, [WORD])
    assert len(passed) > 500 and WORD.encode() not in passed and b"hello" not in passed


def test_without_tls_it_could_be_read(tmp_path):
    ours, code, passed = run_through_proxy(tmp_path, None, "", ["echo", WORD])
    assert (code, ours.lines()) == (0, [WORD])
    assert WORD.encode() in passed and b'"hello"' in passed


def test_megabytes_pass_and_a_cut_connection_is_made_anew_inside_tls(tmp_path, certificate):
    numbers = "import sys\nfor i in range(200_000): print(i)"
    command = [sys.executable, "-c", numbers]
    ours, code, passed = run_through_proxy(tmp_path, *certificate, command, cut_after=300_000)
    assert code == 0 and ours.dropped == 0
    assert ours.lines() == [str(number) for number in range(200_000)]
    assert passed.count(b"\x16\x03\x01") >= 2, "the hellos of two TLS connections"
    assert b"again" not in passed


def test_files_pass_inside_tls_without_waiting_for_anything_else(tmp_path, certificate):
    """As fast as without: no heartbeat has to push them on."""
    never = 3600.0
    pack = packed(write(tmp_path / "source", noise_bin=os.urandom(3_000_000)))
    tls, digest = certificate

    async def main():
        async with launcher(tls=tls, packs={"ship": pack}, heartbeat=never, silence=never) as ours:
            told = {"packs": {"ship": pack.describe()}, "heartbeat": never, "silence": never}
            values = settings(ours.address, certificate=digest, **told)
            with runner(tmp_path, values, MESOS_SANDBOX=str(tmp_path)) as theirs:
                ours.start("cmp noise.bin ../source/noise.bin && echo same")
                await ours.saw(TaskExited)
                return await theirs.exited(), ours.lines()

    assert asyncio.run(main()) == (0, ["same"])


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13", "3.14"])
def test_any_python_of_a_node_can_do_it(tmp_path, certificate, version):
    ours, code, _ = run_through_proxy(
        tmp_path, *certificate, ["echo", WORD], another_python(version)
    )
    assert (code, ours.lines()) == (0, [WORD])


def test_a_launcher_with_another_certificate_is_told_nothing(tmp_path, certificate):
    async def main():
        async with launcher(tls=certificate[0]) as ours:
            values = settings(ours.address, certificate="0" * 64)
            with runner(tmp_path, values) as theirs:
                return await theirs.exited(), theirs.stderr, ours.events

    code, said, events = asyncio.run(main())
    assert (code, events) == (HANDSHAKE_FAILED, [])
    assert names(said, "launcher", "another certificate") and said.count("\n") == 1


class OtherCertificateLater(Proxy):
    """Passes on the first connection; at the second somebody else answers, with a certificate."""

    def __init__(self, target, thief):
        super().__init__(target)
        self.first_is_over, self.thief = False, thief

    async def _serve(self, reader, writer):
        if self.first_is_over:
            self._target = self.thief
        self.first_is_over = True
        await super()._serve(reader, writer)


def test_a_certificate_is_checked_again_on_every_further_connection(tmp_path, certificate):
    thief_tls, _ = tls_of(make_certificate("thief", "link_tls"))

    async def main():
        async with launcher(tls=certificate[0]) as ours, launcher(tls=thief_tls) as thief:
            async with OtherCertificateLater(ours.address, thief.address).running() as proxy:
                values = settings(proxy.address, certificate=certificate[1], grace=2)
                with runner(tmp_path, values) as theirs:
                    ours.start(["sh", "-c", "echo there; exec sleep 60"])
                    await ours.until(ours.lines)
                    before = len(proxy.recorded)
                    proxy.cut()
                    code = await theirs.exited()
                    return code, theirs.stderr, thief.events, len(proxy.recorded) - before

    code, said, events, told = asyncio.run(main())
    assert code != 0 and "the launcher has another certificate" in said
    assert events == [] and told > 0


def test_who_does_not_speak_tls_is_refused_with_one_line(tmp_path, certificate, caplog):
    async def main():
        async with launcher(tls=certificate[0]) as ours:
            with runner(tmp_path, settings(ours.address, connect_timeout=0.1)) as theirs:
                return await theirs.exited(), ours.events

    code, events = asyncio.run(main())
    assert (code, events) == (HANDSHAKE_FAILED, [])
    assert "TLS handshake failed" in caplog.text and len(caplog.records) == 1


def test_a_launcher_without_tls_is_one_clear_line_for_a_task_that_wants_it(tmp_path):
    async def main():
        async with launcher(handshake=0.2) as ours:
            values = settings(ours.address, certificate="0" * 64, connect_timeout=0.1)
            with runner(tmp_path, values) as theirs:
                return await theirs.exited(), theirs.stderr

    code, said = asyncio.run(main())
    assert code in (CANNOT_REACH_LAUNCHER, HANDSHAKE_FAILED)
    assert said.startswith("tfmesos runner: the launcher at ") and said.count("\n") == 1


def test_a_node_whose_python_has_no_ssl_says_so_in_one_line(tmp_path, certificate):
    (tmp_path / "python").write_text(
        f"#!/bin/sh\nshift 3\n"
        f"exec {sys.executable} -I -S -c \"import sys; sys.modules['ssl'] = None; exec('''$1''')\""
    )
    (tmp_path / "python").chmod(0o755)

    async def main():
        async with launcher(tls=certificate[0]) as ours:
            values = settings(ours.address, certificate=certificate[1])
            theirs = Runner(tmp_path, environment(values), f"{tmp_path}/python")
            try:
                return await theirs.exited(), theirs.stderr
            finally:
                theirs.close()

    code, said = asyncio.run(main())
    assert code == BAD_SETTINGS and "ssl" in said and said.count("\n") == 1, said


def test_strangers_in_the_middle_of_tls_are_as_few_as_others(certificate):
    async def main():
        async with launcher(tls=certificate[0], strangers=2) as ours:
            silent = [await asyncio.open_connection(*ours.address) for _ in range(5)]
            ends = [asyncio.create_task(reader.read()) for reader, _ in silent]
            _, waiting = await asyncio.wait(ends, timeout=0.5)
            while len(waiting) > 3:  # 2, and the task that is expected, have room
                _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for task in waiting:
                task.cancel()
            for _, writer in silent:
                writer.transport.abort()
            return len(waiting)

    assert asyncio.run(main()) == 3
