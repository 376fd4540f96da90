"""No report, log or traceback shows a secret, whatever a user or a peer gives us."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import re
import subprocess
import sys

import pytest

from tests.bounds import HANG
from tests.commands import environment, standing_mesos, tfrun
from tests.fake_masters import GoodMaster
from tests.sentences import begins
from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api import sandbox

MASTERS_SECRET = "hush-6f1d"
BASIC = base64.b64encode(f"me:{MASTERS_SECRET}".encode()).decode()


@pytest.fixture
def secret_file(tmp_path):
    file = tmp_path / "secret"
    file.write_text(MASTERS_SECRET)
    return file


def run_bytes(*args):
    """tfrun with arguments that need not be text."""
    return subprocess.run(
        [sys.executable, "-m", "tfmesos", *args],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=environment(),
    )


@pytest.mark.parametrize("verbosity", ["-v", "-vv"])
@pytest.mark.parametrize(
    "given, message",
    [
        (["--python", b"/x\xff"], r"--python must be UTF-8, got '/x\udcff'"),
        (["--image", b"r\xff"], r"--image must be UTF-8, got 'r\udcff'"),
        (["--image", "r", "-V", b"/a\xff:/b"], r"-V/--volume must be UTF-8, got '/a\udcff'"),
        (["-r", b"r\xff"], r"-r/--role must be UTF-8, got 'r\udcff'"),
        (["--image", "r", "--user", b"u\xff"], r"--user must be UTF-8, got 'u\udcff'"),
        (["--advertise", b"h\xff"], r"--advertise ... HOST:PORT, got 'h\udcff'"),
        (["-m", b"h\xff"], r"-m/--master 'h\udcff': 'h\udcff' is not a host name"),
        (["--principal", b"p\xff"], r"--principal ... without a colon, got"),
        (["--principal", "p:q"], r"--principal ... without a colon, got 'p:q'"),
    ],
)
def test_bytes_that_are_not_utf8_are_refused_with_their_flag(
    secret_file, given, message, verbosity
):
    master = [] if "-m" in given else ["-m", "127.0.0.1:1"]
    principal = [] if "--principal" in given else ["--principal", "me"]
    access = [*principal, "--secret-file", secret_file]
    done = run_bytes(verbosity, "-w", "1", *master, *access, *given, "--", "true")
    assert (done.returncode, done.stdout) == (2, b"")
    assert begins(done.stderr.decode(), f"tfrun: {message}") and done.stderr.count(b"\n") == 1
    assert_hidden(done.stderr.decode(), MASTERS_SECRET, BASIC)


def assert_hidden(text, *secrets):
    for secret in secrets:
        assert len(secret) > 8 and secret not in text


@pytest.mark.parametrize("flag", ["--env", "--cwd", "--name", "--constraint", "--logs", "-e"])
@pytest.mark.parametrize("value", [b"X=\xff", b"/\xff"])
def test_no_bytes_in_any_flag_are_a_fault(flag, value):
    done = run_bytes("-w", "1", flag, value, "--", "true")
    assert done.returncode in (0, 1, 2, 66), done.stderr  # 1: the node has no such directory
    assert b"Traceback" not in done.stderr and b"internal error" not in done.stderr


def test_the_password_of_a_zookeeper_is_in_no_request_and_no_dry_run():
    master = "zk://me:hush-zk@127.0.0.1:1/mesos"
    done = tfrun("-v", "-w", 1, "-m", master, "--dry-run=mesos", "--", "true")
    assert json.loads(done.stdout)["master"] == "zk://***@127.0.0.1:1/mesos"
    words = tfrun("-v", "-w", 1, "-m", master, "--dry-run", "--", "true")
    assert "master: zk://***@127.0.0.1:1/mesos" in words.stdout
    assert_hidden(done.stdout + done.stderr + words.stdout + words.stderr, "me:hush-zk")


# Runs tfrun with a call that fails, and tells the secrets that this call holds.
FAULT = """
import json, sys
from tfmesos import tfrun
from tfmesos.engines.mesos.api import call_json

def secrets_of(value):
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [secret for part in parts for secret in secrets_of(part)]
    return [value.reveal()] if hasattr(value, "reveal") else []

def fail(call):
    if call["type"] != "ACCEPT":
        return encoded(call)
    json.dump(secrets_of(call), open(sys.argv[1], "w"))
    raise ValueError(call)

encoded, call_json._encoded = call_json._encoded, fail
sys.exit(tfrun.main(sys.argv[2:]))
"""


@pytest.mark.parametrize("verbosity", ["-v", "-vv"])
def test_the_report_of_a_fault_does_not_show_the_secrets_of_the_run(tmp_path, verbosity):
    told = tmp_path / "told"
    with standing_mesos() as url:
        done = subprocess.run(
            [sys.executable, "-c", FAULT, told, verbosity, "-m", url, "-w", "2", "--", "true"],
            capture_output=True,
            text=True,
            env=environment(),
        )
    assert done.returncode == 70
    secrets = json.loads(told.read_text())
    assert len(secrets) == 2 and all(re.fullmatch("[0-9a-f]{64}", it) for it in secrets)
    assert "tfrun: internal error; please report it: ValueError: " in done.stderr
    assert "TFMESOS_SECRET" in done.stderr and "(a secret)" in done.stderr  # it was in there
    assert_hidden(done.stderr, *secrets)


OFFER = {
    "id": {"value": "offer"},
    "agent_id": {"value": "agent"},
    "framework_id": {"value": "framework"},
    "hostname": "host",
    "resources": [
        {"name": name, "type": "SCALAR", "scalar": {"value": 9000.0}, "role": "*"}
        for name in ("cpus", "mem", "disk")
    ],
}


class MasterThatOffers(GoodMaster):
    """Makes one offer to everybody who subscribes."""

    def __init__(self, **parts):
        super().__init__()
        self._offer = {**OFFER, **parts}

    async def subscribed(self, request, writer):
        await super().subscribed(request, writer)
        self.send({"type": "OFFERS", "offers": {"offers": [self._offer]}})


async def started(master, *args):
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tfmesos", "-m", master.address, *map(str, args)),
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        limit=1 << 20,
        env=environment(),
    )


async def run_against(master, *args):
    async with master:
        process = await started(master, *args)
        _, err = await asyncio.wait_for(process.communicate(), HANG)
        return process.returncode, err.decode()


@pytest.mark.parametrize("part", ["id", "agent_id"])
@pytest.mark.parametrize("verbosity", ["-v", "-vv"])
def test_an_offer_with_half_a_character_is_no_fault_and_shows_no_secret(
    secret_file, part, verbosity
):
    master = MasterThatOffers(**{part: {"value": "\ud800"}})
    access = ("--principal", "me", "--secret-file", secret_file)
    run = run_against(master, verbosity, "-w", 1, *access, "--start-timeout", 3, "--", "true")
    code, err = asyncio.run(run)
    assert code not in (0, 70) and "Traceback" not in err, err
    assert_hidden(err, MASTERS_SECRET, BASIC, *secrets_sent(master))


def secrets_sent(master):
    """Those of the tasks in the calls that a master has got."""
    text = json.dumps([call.body for call in master.calls("ACCEPT")])
    return re.findall(r'"TFMESOS_SECRET", "value": "([0-9a-f]+)"', text)


async def launch_against(master, *args):
    """What a run says whose task is launched, and that is interrupted then."""
    async with master, asyncio.timeout(HANG):
        process = await started(master, *args)
        said = await process.stderr.readuntil(b"launching worker:0 on host")
        await master.next("ACCEPT")
        process.terminate()
        return (said + (await process.communicate())[1]).decode()


@pytest.mark.parametrize("verbosity", ["-v", "-vv"])
def test_a_run_that_goes_well_logs_no_secret(secret_file, verbosity):
    access = ("--principal", "me", "--secret-file", secret_file)
    master = MasterThatOffers()
    err = asyncio.run(launch_against(master, verbosity, "-w", 1, *access, "--", "true"))
    secrets = secrets_sent(master)
    assert len(secrets) == 1 and "launching worker:0 on host" in err
    assert_hidden(err, MASTERS_SECRET, BASIC, *secrets)


async def refuse(reader, writer):
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
    writer.close()


async def tail_from_an_agent_that_refuses():
    async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        credential = ("me", Secret(MASTERS_SECRET))
        return await sandbox.tail([f"http://127.0.0.1:{port}"], "framework", "task", credential)


def test_an_agent_that_refuses_does_not_have_its_credential_logged(caplog):
    caplog.set_level(logging.DEBUG)
    assert asyncio.run(tail_from_an_agent_that_refuses()) == ()
    assert "404" in caplog.text
    assert_hidden(caplog.text, MASTERS_SECRET, BASIC)


def test_names_that_are_not_ascii_arrive_at_the_master():
    with standing_mesos() as url:
        done = tfrun("-w", 1, "-m", url, "-n", "größe 🚀", "--", "true")
    assert done.returncode == 0, done.stderr
