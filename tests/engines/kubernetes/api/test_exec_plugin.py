"""Exec plugins that end without all that they started."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.bounds import HANG
from tests.runners import gone
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes.api import exec_plugin
from tfmesos.engines.kubernetes.api.access import Access, Plugin
from tfmesos.engines.kubernetes.api.error import ApiError

V1 = "client.authentication.k8s.io/v1"
SAY = f"""echo '{{"apiVersion": "{V1}", "kind": "ExecCredential", "status": {{"token": "t1"}}}}'"""


def run(folder, script):
    """What a plugin of these lines gives; a hang is an error."""
    plugin = Plugin(
        command="/bin/sh", args=Secret(f'["{folder}/script"]'), variables={}, version=V1
    )
    (folder / "script").write_text(script)

    async def main():
        async with asyncio.timeout(HANG):
            return await exec_plugin.run(plugin, Access("https://h", "tests", context="here"))

    return asyncio.run(main())


@pytest.fixture
def never_times_out(monkeypatch):
    monkeypatch.setattr(exec_plugin, "TIMEOUT", 10 * HANG)


def child(folder, command="sleep 600"):
    """The line that starts a child, which holds both pipes."""
    return f"{command} & echo $! > {folder}/pid\n"


def assert_ended(folder):
    pid = int((folder / "pid").read_text())
    assert gone(pid), f"process {pid} still runs"


def test_a_plugin_that_leaves_a_child_behind_gives_its_token_and_the_child_ends(
    tmp_path, never_times_out
):
    found = run(tmp_path, child(tmp_path) + SAY)
    assert found.token is not None and found.token.reveal() == "t1"
    assert_ended(tmp_path)


def test_a_plugin_that_fails_and_leaves_a_child_behind_is_told_with_its_code(
    tmp_path, never_times_out
):
    with pytest.raises(ApiError, match="failed with exit code 3: no network"):
        run(tmp_path, child(tmp_path) + "echo no network >&2; exit 3")
    assert_ended(tmp_path)


def test_a_plugin_cannot_read_what_was_piped_to_us(tmp_path):
    read_fd, write_fd = os.pipe()
    saved = os.dup(0)
    try:
        os.dup2(read_fd, 0)
        found = run(tmp_path, "[ ! -p /dev/stdin ] || exit 1\n" + SAY)
    finally:
        os.dup2(saved, 0)
        for fd in (saved, read_fd, write_fd):
            os.close(fd)
    assert found.token is not None


def test_a_certificate_without_its_key_is_left_out(tmp_path):
    half = SAY.replace('"token"', '"clientCertificateData": "c", "token"')
    found = run(tmp_path, half)
    assert found.token is not None and (found.certificate, found.key) == (None, None)


def test_a_plugin_that_does_not_end_may_be_asked_again(tmp_path, monkeypatch):
    monkeypatch.setattr(exec_plugin, "TIMEOUT", 0.1)
    with pytest.raises(ApiError, match="did not end within") as caught:
        run(tmp_path, "exec sleep 600")
    assert caught.value.is_retryable and caught.value.code == 401


def test_a_daemon_that_holds_the_pipe_is_not_waited_for(tmp_path, never_times_out):
    stop = tmp_path / "stop"
    daemon = f"setsid sh -c 'while [ ! -e {stop} ]; do sleep 0.05; done'"
    try:
        found = run(tmp_path, child(tmp_path, daemon) + SAY)
        assert found.token is not None and found.token.reveal() == "t1"
    finally:
        stop.touch()
    assert_ended(tmp_path)


def test_more_output_than_a_pipe_holds_is_read_and_bounded(tmp_path):
    with pytest.raises(ApiError, match="exit code 1") as caught:
        run(tmp_path, "head -c 9000000 /dev/zero | tr '\\0' x >&2; exit 1")
    assert len(str(caught.value)) < 1000
