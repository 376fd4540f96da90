"""python -m tests.mesos.embedded as a user runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket

import psutil
import pytest

from tests.bounds import HANG
from tests.mesos.embedded import LocalMesos
from tests.mesos.embedded.__main__ import main

from .asking import NODE
from .command_line import running
from .wire import Scheduler, framework, task


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_and_every_task(number, code):
    async def start_one(url):
        scheduler = await Scheduler.subscribe(url, framework())
        await scheduler.launch(await scheduler.offer(), task("t", "exec sleep 1000"))
        status = await scheduler.state("t", "TASK_RUNNING")
        return scheduler, status["container_status"]["executor_pid"]

    async def signal_it():
        with running("--resources", "cpus:2;mem:512") as (process, url):
            scheduler, pid = await start_one(url)
            os.kill(process.pid, number)
            assert await scheduler.over() == "cut"
            scheduler.close()
            assert await asyncio.to_thread(process.wait, HANG) == code
            return pid

    assert not psutil.pid_exists(asyncio.run(signal_it()))


def test_agents_may_differ_and_the_last_value_is_for_all_that_follow():
    async def offers(url):
        scheduler = await Scheduler.subscribe(url, framework())
        await scheduler.offer(2)
        scheduler.close()
        return scheduler.offers()

    flags = ["--agents", "3", "--hostname", "a", "--hostname", "b", "--attributes", "rack:r1"]
    flags += ["--resources", "cpus:1;mem:64", "--resources", "cpus:2;mem:64"]
    with running(*flags) as (_process, url):
        found = asyncio.run(offers(url))
    sizes = [o["resources"][0]["scalar"]["value"] for o in found]
    assert sorted(zip([o["hostname"] for o in found], sizes, strict=True)) == [
        ("a", 1.0),
        ("b", 2.0),
        ("b", 2.0),
    ]
    assert all(o["attributes"][0]["text"] == {"value": "r1"} for o in found)


def test_the_credential_of_the_file_is_asked_for(tmp_path):
    async def status(url, auth):
        scheduler = await Scheduler.subscribe(url, framework(), auth=auth)
        scheduler.close()
        return scheduler.answer.status

    file = tmp_path / "credential"
    file.write_text("fw dummy\n")
    with running("--credential-file", str(file)) as (_process, url):
        assert asyncio.run(status(url, {})) == 401
        assert asyncio.run(status(url, {"Authorization": "Basic Znc6ZHVtbXk="})) == 200


@pytest.mark.parametrize(
    "flags, words",
    [
        (["--port", "70000"], "--port must be between 0 and 65535, got 70000"),
        (["--agents", "0"], "--agents must be at least 1, got 0"),
        (["--resources", "cpus"], "--resources 'cpus' cannot be read"),
        (["--attributes", "rack"], "--attributes 'rack' cannot be read"),
        (
            ["--credential-file", "/no/such/file"],
            "--credential-file '/no/such/file' cannot be read",
        ),
        (["--port", "x"], "argument --port: invalid int value: 'x'"),
        (
            ["--nonsense"],
            "--nonsense is not a flag of python -m tests.mesos.embedded "
            "(see python -m tests.mesos.embedded --help)",
        ),
    ],
)
def test_a_bad_flag_is_named_with_its_value(flags, words, capsys):
    assert code_of(*flags) == 2
    text = capsys.readouterr().err
    assert words in text and text.count("\n") == 1


def code_of(*flags):
    try:
        return main(flags)
    except SystemExit as end:  # argparse's
        return end.code


def test_a_taken_port_is_one_clear_line(capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert code_of("--port", str(taken.getsockname()[1])) == 1
    line = "tests.mesos.embedded: the port is taken; choose another with --port, or 0 for any\n"
    assert capsys.readouterr().err == line


def test_open_to_anybody_without_a_credential_is_worth_a_warning():
    with running() as (process, _url):
        assert process.stderr.readline() == (
            "tests.mesos.embedded: warning: every user of this machine can run commands here; "
            "see --credential-file\n"
        )


@pytest.mark.parametrize(
    "host, who",
    [
        ("127.0.0.1", "every user of this machine"),
        ("localhost", "every user of this machine"),
        ("0.0.0.0", "everybody who reaches port {port} of this machine"),
    ],
)
def test_whom_the_warning_names_depends_on_the_address(host, who):
    async def audience():
        async with LocalMesos([NODE], host=host) as mesos:
            assert mesos.is_open
            return mesos.audience, mesos.url.rpartition(":")[2]

    told, port = asyncio.run(audience())
    assert told == who.format(port=port)
