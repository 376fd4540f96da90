"""Who leads: standby masters that redirect, elections, credentials. On a genuine Mesos."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kazoo.client import KazooClient

from tests.chaos.stage import background
from tests.commands import finish, read_until, running_tfrun, standing_mesos, tfrun, without_waits
from tests.runners import Proxy
from tests.tls import server_context

from .cluster import QUICK_LOSS, STARTING, wait_until

SETUP_NODE = Path(__file__).parents[3] / "misc" / "setup-node.sh"


def test_a_standby_master_shows_the_way_to_the_leader(mesos):
    leader = mesos.start("node-1")
    standby = mesos.start_candidate(leader.address)
    wait_until("it redirects", lambda: standby.post("/api/v1/scheduler", {}) == 307)
    done = tfrun("-m", standby.address, "-w", 1, "--", "echo", "done")
    assert (done.returncode, done.stdout) == (0, "[worker:0] done\n"), done.stderr


def test_of_several_masters_the_first_that_answers_is_taken(mesos):
    leader = mesos.start("node-1")
    done = tfrun("-m", f"127.0.0.1:1,{leader.address}", "-w", 1, "--", "echo", "done")
    assert (done.returncode, done.stdout) == (0, "[worker:0] done\n"), done.stderr


@pytest.fixture
def elected(mesos, zookeeper):
    """The address for an election between two masters, with two agents that follow it."""
    address = f"zk://{zookeeper}/mesos"
    masters = [mesos.start_candidate(address, **QUICK_LOSS) for _ in "12"]
    wait_until("a master leads", lambda: leader_of(masters))
    for hostname in ("node-1", "node-2"):
        mesos.start_agent(hostname, master=address)
    leader_of(masters).wait_for("node-1", "node-2")
    return address


def leader_of(masters):
    """It answers for itself; the others redirect, or know no leader yet."""
    found = [it for it in masters if it.process.poll() is None]
    return next((it for it in found if it.post("/api/v1/scheduler", {}) == 400), None)


def test_tasks_go_on_when_another_master_is_elected(mesos, elected, tmp_path):
    go = tmp_path / "go"
    script = f"echo up; until [ -e {go} ]; do sleep 0.05; done; echo done"
    with running_tfrun("-m", elected, "-w", 2, "-Cw", 4, "--", "sh", "-c", script) as run:
        read_until(run.stdout, "[worker:0] up", "[worker:1] up")
        masters = mesos.hosts[:2]
        leader_of(masters).kill()
        wait_until("the other one leads", lambda: leader_of(masters))
        leader_of(masters).wait_for("node-1", "node-2")
        wait_until("the framework is back", lambda: is_subscribed(leader_of(masters)))
        go.touch()
        out, err = finish(run)
    assert (run.returncode, out.count("done")) == (0, 2), err


def is_subscribed(master):
    frameworks = master.get("/master/frameworks").get("frameworks", [])
    return any(framework["active"] for framework in frameworks)


# TLS


@pytest.fixture
def secure(zookeeper, certificate):
    """The address for an election that a master with TLS has won."""
    with standing_mesos("--agents", "1") as url, background() as here:
        front = Proxy(("127.0.0.1", urlsplit(url).port), server_context(certificate))
        port = here.enter(front.running()).address[1]
        kazoo = KazooClient(zookeeper)
        kazoo.start()
        try:
            address = {"address": {"hostname": "node", "ip": "127.0.0.1", "port": port}}
            info = json.dumps(address).encode()
            kazoo.create("/mesos/json.info_", info, makepath=True, sequence=True, ephemeral=True)
            yield f"zk://{zookeeper}/mesos"
        finally:
            kazoo.stop()
            kazoo.close()


def test_through_zookeeper_a_ca_file_leads_to_masters_with_tls(secure, certificate):
    done = tfrun("-m", secure, "--ca-file", certificate, "-w", 1, "--", "echo", "done")
    assert (done.returncode, done.stdout) == (0, "[worker:0] done\n"), done.stderr


def test_without_a_ca_file_a_master_with_tls_is_recognised_through_zookeeper(secure):
    done = tfrun("-m", secure, "--start-timeout", 20, "-w", 1, "--", "true")
    assert done.returncode == 69
    assert "(if it speaks TLS, give a CA file" in done.stderr


# Credentials


@pytest.fixture
def guarded(mesos, tmp_path):
    """The address of a master that wants credentials."""
    credentials = tmp_path / "credentials.json"
    credentials.write_text(json.dumps({"credentials": [{"principal": "me", "secret": "hush"}]}))
    credentials.chmod(0o600)
    flags = {
        "credentials": str(credentials),
        "authenticate_http_frameworks": "true",
        "http_framework_authenticators": "basic",
    }
    return mesos.start("node-1", **flags).address


def test_with_its_credentials_a_run_is_let_in(guarded, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("hush\n")
    access = ("--principal", "me", "--secret-file", secret)
    done = tfrun("-m", guarded, *access, "-w", 1, "--", "echo", "done")
    assert (done.returncode, done.stdout) == (0, "[worker:0] done\n"), done.stderr


def test_without_the_right_credentials_nobody_is_let_in(guarded, tmp_path):
    wrong = tmp_path / "secret"
    wrong.write_text("guess\n")
    for access in ((), ("--principal", "me", "--secret-file", wrong)):
        done = tfrun("-m", guarded, *access, "-w", 1, "--", "true")
        assert done.returncode == 69 and without_waits(done.stderr).count("\n") == 1
        assert "credentials" in done.stderr and "guess" not in done.stderr


# The way misc/setup-node.sh sets nodes up


def flags_set_up(role, *arguments):
    """The flags of the script that are about authentication, by name."""
    command = [SETUP_NODE, role, "--ip", "127.0.0.1", "--dry-run", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = re.findall(r'"--([a-z_]*(?:credential|authenticat)[a-z_]*)=(.*?)"', done.stdout)
    return dict(found)


@pytest.fixture
def set_up(mesos, tmp_path):
    """A master and an agent with the credentials and the flags of the script."""
    where = ("--secrets", tmp_path / "secrets")
    subprocess.run([SETUP_NODE, "secrets", *where], check=True)
    mesos.start_master(**flags_set_up("master", "--zk", "zk://h/mesos", *where))
    flags = flags_set_up("agent", "--master", "h", *where)
    mesos.start_agent("node-1", **flags)
    return mesos


def test_on_nodes_that_the_script_set_up_a_run_with_the_secret_works(set_up, tmp_path):
    access = ("--principal", "tfmesos", "--secret-file", tmp_path / "secrets" / "tfmesos")
    done = tfrun("-m", set_up.master.address, *access, "-w", 1, "--", "echo", "done")
    assert (done.returncode, done.stdout) == (0, "[worker:0] done\n"), done.stderr


def test_on_nodes_that_the_script_set_up_nobody_is_let_in_without_a_secret(set_up):
    done = tfrun("-m", set_up.master.address, "-w", 1, "--", "true")
    assert done.returncode == 69 and "credentials" in done.stderr
    agent = set_up.hosts[-1]
    launch = {"type": "LAUNCH_CONTAINER", "launch_container": {"container_id": {"value": "x"}}}
    wait_until("the agent is up", lambda: agent.post("/api/v1", launch) not in STARTING)
    assert (agent.post("/api/v1", launch), set_up.master.get("/master/state")) == (401, {})
