"""Tasks with Kerberos tickets of a genuine KDC, known by them to a genuine service."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from tests.commands import finish, lines, read_until, running_tfrun, tfrun, without_waits
from tests.mesos.genuine.conftest import unavailable
from tfmesos.node.task import kerberos

from .realm import REALM

PYTHON = "/usr/bin/python3"  # Debian's, which has gssapi
SERVICE = Path(__file__).with_name("service.py")


@pytest.fixture(scope="module")
def user(realm):
    return realm.keytab("user")


@pytest.fixture
def service_port(realm):
    """Of a service that is known by its own keytab."""
    if subprocess.run([PYTHON, "-c", "import gssapi"], capture_output=True).returncode:
        unavailable("no kerberized service can run here: python3-gssapi is missing")
    keytab = realm.place / "test-localhost.keytab"
    if not keytab.exists():
        realm.keytab("test/localhost")
    env = {**realm.env, "KRB5_KTNAME": str(keytab)}
    with subprocess.Popen(
        [PYTHON, SERVICE, "serve"], env=env, stdin=-1, stdout=-1, text=True
    ) as service:
        yield service.stdout.readline().strip()
        service.stdin.close()


def flags(realm, keytab, principal=f"user@{REALM}"):
    return ("--keytab", keytab, "--krb5-principal", principal, "--krb5-conf", realm.conf)


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_service_knows_the_user_of_every_task(realm, user, service_port, where):
    script = f"{PYTHON} {SERVICE} ask {service_port}; ls $TFMESOS_SECRETS_DIR; echo $KRB5CCNAME"
    done = tfrun("-w", 2, *where, *flags(realm, user), "--", script)
    assert (done.returncode, without_waits(done.stderr)) == (0, "")
    said = [
        line.removeprefix("[worker:0] ").removeprefix("[worker:1] ") for line in lines(done.stdout)
    ]
    assert said.count(f"user@{REALM}") == 2
    assert {"krb5.keytab", "krb5.conf", "krb5cc"} < set(said)
    caches = {line for line in said if line.startswith("/")}
    assert len(caches) == 2, "each task has its own"
    assert not [cache for cache in caches if os.path.exists(os.path.dirname(cache))]


def test_without_a_ticket_the_service_knows_nobody(realm, service_port):
    env = {"KRB5_CONFIG": str(realm.conf), "KRB5CCNAME": str(realm.place / "none")}
    done = tfrun("-w", 1, "--", PYTHON, SERVICE, "ask", service_port, env=env)
    assert done.returncode == 1 and "No Kerberos credentials available" in done.stderr


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_ticket_is_renewed_while_the_command_runs(realm, where):
    name = "short" if where else "brief"
    keytab = realm.keytab(name, "-maxlife", "8 seconds")
    look = "klist | grep krbtgt"
    script = f'a="$({look})"; until b="$({look})" && [ "$a" != "$b" ]; do sleep 0.1; done; echo new'
    done = tfrun("-w", 1, *where, *flags(realm, keytab, f"{name}@{REALM}"), "--", script)
    assert done.returncode == 0 and done.stdout.endswith("new\n"), done.stderr


def test_a_renewal_that_fails_is_said_and_the_command_goes_on(realm, tmp_path):
    keytab = realm.keytab("leaving", "-maxlife", "6 seconds")
    script = f"echo up; until [ -e {tmp_path}/go ]; do sleep 0.05; done"
    who = flags(realm, keytab, f"leaving@{REALM}")
    with running_tfrun("-w", 1, *who, "--", script) as run:
        read_until(run.stdout, "up")
        realm._run("kadmin.local", "-r", REALM, "delprinc", "-force", "leaving")
        read_until(run.stderr, f"got no Kerberos ticket for leaving@{REALM}: kinit: Client ")
        (tmp_path / "go").touch()
        finish(run)
    assert run.returncode == 0


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_kinit_that_fails_is_told_in_its_words_and_no_command_starts(
    realm, user, tmp_path, where
):
    who = flags(realm, user, f"nobody@{REALM}")
    command = ("touch", tmp_path / "started")
    done = tfrun("-w", 1, *where, "--restarts", 0, *who, "--", *command)
    assert done.returncode == 1 and done.stdout == ""
    words = f"tfrun: worker:0 got no Kerberos ticket for nobody@{REALM}: kinit: Keytab contains no "
    assert without_waits(done.stderr).startswith(words), done.stderr
    assert not (tmp_path / "started").exists()


def test_a_node_without_kinit_says_what_it_needs(realm, user, tmp_path):
    wrapper = tmp_path / "python"
    wrapper.write_text('#!/bin/sh\nPATH=/nowhere exec /usr/bin/python3 "$@"\n')
    wrapper.chmod(0o755)
    done = tfrun("-w", 1, "--restarts", 0, "--python", wrapper, *flags(realm, user), "--", "true")
    assert done.returncode == 127
    assert "no such command: kinit" in done.stderr and "the package krb5" in done.stderr


@pytest.mark.parametrize("where", [(), ("--local-chief",)], ids=["on a node", "right here"])
def test_a_run_can_be_stopped_while_kinit_waits_for_an_answer(realm, user, tmp_path, where):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        conf = tmp_path / "krb5.conf"
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        conf.write_text(realm.conf.read_text().replace(f"127.0.0.1:{realm.port}", address))
        who = ("--keytab", user, "--krb5-principal", f"user@{REALM}", "--krb5-conf", conf)
        with running_tfrun("-w", 1, *where, *who, "--", "touch", tmp_path / "started") as run:
            asked, _ = silent.accept()
            with asked:
                run.send_signal(signal.SIGINT)
                finish(run)
    assert run.returncode == 130 and not (tmp_path / "started").exists()


def test_the_end_of_a_ticket_is_read_as_klist_reads_it(realm, user, tmp_path):
    cache = tmp_path / "cache"
    argv = ["kinit", "-k", "-t", user, "-c", cache, "-l", "1h", f"user@{REALM}"]
    subprocess.run(argv, env=realm.env, check=True)
    listed = subprocess.run(
        ["klist", "-c", cache], env=realm.env, check=True, capture_output=True, text=True
    ).stdout
    line = next(line for line in listed.splitlines() if "krbtgt/" in line)
    end = kerberos.end_of_ticket(cache.read_bytes())
    shown = subprocess.run(
        ["date", "-d", f"@{end}", "+%m/%d/%y %H:%M:%S"], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert shown == "  ".join(line.split("  ")[1:2])
