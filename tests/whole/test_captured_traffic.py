"""Somebody listens at the cable between the launcher and the nodes."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.commands import EMBEDDED_MESOS, ROOT, environment
from tests.namespaces import HERE, THERE, cable, overheard, streams

HUSH = "hush-59f0c4d1e7"


@contextmanager
def mesos_at(end):
    """The URL of an embedded Mesos that runs alone at that end of the cable."""
    command = [*EMBEDDED_MESOS, "--port", "0", "--host", THERE]
    with subprocess.Popen(
        [*end, *command],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    ) as master:
        try:
            yield re.search(r"http://\S+", master.stdout.readline())[0]
        finally:
            master.terminate()


def run_over_cable(place, *args):
    """What tfrun wrote, whose tasks are at the other end, and what was overheard of it."""
    with cable() as between, mesos_at(between.inside(between.there)) as url:
        with overheard(between, place / "packets"):
            done = subprocess.run(
                [*between.inside(between.here), sys.executable, "-m", "tfmesos", "-m", url, *args],
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                env=environment(),
            )
    assert done.returncode == 0, done.stderr
    return done.stdout, streams(place / "packets")


def heard(word, said):
    """Whether *word* can be read in any of it, as text or in base64."""
    text = word.encode()
    shifted = [base64.b64encode(bytes(shift) + text)[4:-4] for shift in range(3)]
    return any(form in stream for stream in said for form in (text, *shifted))


def test_nothing_of_a_secret_can_be_read_on_its_way(tmp_path):
    (tmp_path / "token").write_text(HUSH)
    (tmp_path / "token").chmod(0o600)
    flags = ("--secret", f"token={tmp_path}/token", "--secret-env", f"KEY={tmp_path}/token")
    show = 'echo "$KEY $(cat $TFMESOS_SECRETS_DIR/token)"'
    out, said = run_over_cable(tmp_path, *flags, "-w", "1", "-n", "a run", "--", show)
    assert out == f"[worker:0] {HUSH} {HUSH}\n"
    assert heard("SUBSCRIBE", said) and heard("TFMESOS_RUNNER", said), "nothing was overheard"
    assert not heard(HUSH, said)


@pytest.mark.parametrize("tls", [(), ("--link-tls",)], ids=["plain", "tls"])
def test_the_link_can_be_read_on_its_way_unless_it_is_inside_tls(tmp_path, tls):
    flags = (*tls, "-w", "1", "--env", f"WORD={HUSH}", "-n", "a run")
    out, said = run_over_cable(tmp_path, *flags, "--", 'echo "$WORD"')
    assert out == f"[worker:0] {HUSH}\n"
    assert heard("SUBSCRIBE", said) and heard(HERE, said), "nothing was overheard"
    assert heard(HUSH, said) is (not tls)
