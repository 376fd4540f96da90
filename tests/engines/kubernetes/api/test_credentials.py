"""Who we are to the API server: certificates, files of tokens, exec plugins."""

from __future__ import annotations

import asyncio
import datetime
import json
import sys
from pathlib import Path

import pytest
import yaml

from tests.tls import server_context
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes.api import credentials, exec_plugin
from tfmesos.engines.kubernetes.api.access import Access, Login, Plugin
from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.error import ApiError
from tfmesos.engines.kubernetes.api.kubeconfig import access
from tfmesos.errors import TFMesosError
from tfmesos.http.server import Server

from ..servers import ApiServer, answer, recorded_error, serving

POD = "GET /api/v1/namespaces/tests/pods/x"
V1 = "client.authentication.k8s.io/v1"
GOOD = answer(200, {"kind": "Pod"})
UNKNOWN = answer(*recorded_error("401"))


def plugin(folder: Path, code: str, version: str = V1, **changes) -> Plugin:
    """A program of this code; ``say(status)`` writes a credential, ``calls`` counts its starts."""
    path = folder / "login"
    path.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys, time\n"
        f"log = open({str(folder / 'calls')!r}, 'a+'); log.write('x'); log.flush(); log.seek(0)\n"
        "calls = len(log.read())\n"
        f"def say(version={version!r}, **status):\n"
        "    kind = {'apiVersion': version, 'kind': 'ExecCredential', 'status': status}\n"
        "    print(json.dumps(kind))\n" + code
    )
    path.chmod(0o755)
    values = {"command": str(path), "args": Secret("[]"), "variables": {}, "version": version}
    return Plugin(**{**values, **changes})


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text())


def ask(certificate, login, answers=GOOD, times=1, **changes):
    """The server, after so many questions of a client with this login."""

    async def main():
        async with serving({POD: answers}, certificate, login=login, **changes) as (server, client):
            for _ in range(times):
                await client.get("pods", "x")
            return server

    return asyncio.run(main())


def shown(server):
    return [headers.get("authorization") for headers in server.headers]


@pytest.mark.parametrize("version", [V1, f"{V1}beta1"])
def test_a_plugin_is_asked_once_and_gives_a_token(certificate, tmp_path, version):
    login = Login(plugin=plugin(tmp_path, "say(token='t1')", version))
    assert shown(ask(certificate, login, times=3)) == ["Bearer t1"] * 3
    assert calls(tmp_path) == 1


def test_a_plugin_is_asked_again_when_the_server_does_not_know_its_token(certificate, tmp_path):
    login = Login(plugin=plugin(tmp_path, "say(token=f't{calls}')"))
    server = ask(certificate, login, [GOOD, UNKNOWN, GOOD], times=2)
    assert shown(server) == ["Bearer t1", "Bearer t1", "Bearer t2"]


def test_a_token_that_the_server_never_knows_is_given_up(certificate, tmp_path):
    login = Login(plugin=plugin(tmp_path, "say(token=f't{calls}')"))
    with pytest.raises(ApiError, match="may have expired"):
        ask(certificate, login, UNKNOWN)
    assert calls(tmp_path) == 2


def test_a_token_that_expires_is_renewed_before(certificate, tmp_path):
    now = datetime.datetime.now(datetime.UTC)
    soon, late = (
        (now + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
        for seconds in (5, 3600)
    )
    code = f"say(token=f't{{calls}}', expirationTimestamp={soon!r} if calls == 1 else {late!r})"
    server = ask(certificate, Login(plugin=plugin(tmp_path, code)), times=3)
    # The first is due already when the headers are made, after the TLS.
    assert shown(server) == ["Bearer t2"] * 3 and calls(tmp_path) == 2


def test_a_plugin_is_told_what_the_kubeconfig_says(certificate, tmp_path):
    told = tmp_path / "told"
    code = (
        f"json.dump([sys.argv[1:], os.environ['REALM'], json.loads(os.environ["
        f"'KUBERNETES_EXEC_INFO'])], open({str(told)!r}, 'w')); say(token='t')"
    )
    made = plugin(
        tmp_path,
        code,
        args=Secret('["get", "token"]'),
        variables={"REALM": Secret("here")},
        wants_cluster=True,
    )
    ask(certificate, Login(plugin=made), cluster={"server": "https://h"})
    spec = {"interactive": False, "cluster": {"server": "https://h"}}
    info = {"apiVersion": V1, "kind": "ExecCredential", "spec": spec}
    assert json.loads(told.read_text()) == [["get", "token"], "here", info]


def with_client_certificate(certificate, login):
    """What a server that wants client certificates answers."""
    crt, _ = pem(certificate)

    async def main():
        ours = ApiServer({POD: GOOD})
        server = Server(ours.handle)
        tls = server_context(certificate, trusted_clients=f"{certificate}.crt")
        loop = asyncio.get_running_loop()
        listener = await loop.create_server(server.protocol, "127.0.0.1", 0, ssl=tls)
        address = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
        try:
            async with Client(Access(address, "tests", authority=crt, login=login)) as client:
                return await client.get("pods", "x")
        finally:
            listener.close()
            await server.close()

    return asyncio.run(main())


def pem(certificate):
    """Certificate and key."""
    key = certificate.read_text().partition("-----BEGIN CERTIFICATE-----")[0]
    return Path(f"{certificate}.crt").read_text(), key


def test_a_client_certificate_is_shown(certificate):
    crt, key = pem(certificate)
    assert with_client_certificate(certificate, Login(certificate=Secret(crt), key=Secret(key)))
    with pytest.raises(ApiError):
        with_client_certificate(certificate, Login())


def test_a_plugin_may_give_a_client_certificate(certificate, tmp_path):
    crt, key = pem(certificate)
    code = f"say(clientCertificateData={crt!r}, clientKeyData={key!r})"
    assert with_client_certificate(certificate, Login(plugin=plugin(tmp_path, code)))


def test_a_key_is_read_where_there_is_no_file_in_memory(certificate, monkeypatch):
    monkeypatch.delattr(credentials.os, "memfd_create", raising=False)
    crt, key = pem(certificate)
    assert with_client_certificate(certificate, Login(certificate=Secret(crt), key=Secret(key)))


@pytest.mark.parametrize(
    ("login", "authority"),
    [
        (Login(certificate=Secret("no PEM"), key=Secret("hidden-key")), None),
        (Login(), "no PEM"),
    ],
)
def test_a_certificate_that_is_none_is_told_without_its_key(certificate, login, authority):
    changes = {} if authority is None else {"authority": authority}
    with pytest.raises(TFMesosError, match=r"cannot be used: .*PEM") as caught:
        ask(certificate, login, context="here", **changes)
    assert "hidden-key" not in str(caught.value)


def test_a_token_is_read_from_its_file_and_again_when_it_is_unknown(certificate, tmp_path):
    path = tmp_path / "token"
    path.write_text("t1\n")

    def rotated():
        path.write_text("t2\n")
        return UNKNOWN

    server = ask(certificate, Login(token_file=str(path)), [GOOD, rotated, GOOD], times=2)
    assert shown(server) == ["Bearer t1", "Bearer t1", "Bearer t2"]


def test_the_last_token_is_used_while_its_file_cannot_be_read(certificate, tmp_path):
    path = tmp_path / "token"
    path.write_text("t1\n")

    def removed():
        path.unlink()
        return UNKNOWN

    server = ask(certificate, Login(token_file=str(path)), [removed, GOOD])
    assert shown(server) == ["Bearer t1", "Bearer t1"]


def test_the_file_of_a_token_wins_over_the_token_beside_it(certificate, tmp_path):
    login = Login(token=Secret("old"), token_file=str(tmp_path / "token"))
    assert shown(ask(certificate, login)) == ["Bearer old"]
    (tmp_path / "token").write_text("t1\n")
    assert shown(ask(certificate, login)) == ["Bearer t1"]


def test_whom_we_act_as_is_said_with_every_group(certificate):
    login = Login(token=Secret("t1"), acts_as="jane", acts_in=("a", "b"))
    (headers,) = ask(certificate, login).headers
    assert (headers["impersonate-user"], headers["impersonate-group"]) == ("jane", "a, b")
    assert headers["authorization"] == "Bearer t1"
    (headers,) = ask(certificate, Login(token=Secret("t1"))).headers
    assert not any(name.startswith("impersonate") for name in headers)


def test_a_file_of_a_token_that_is_missing_is_named(certificate, tmp_path):
    with pytest.raises(TFMesosError, match=f"{tmp_path}/none, which cannot be read") as caught:
        ask(certificate, Login(token_file=str(tmp_path / "none")))
    assert caught.value.exit_code == 66


@pytest.mark.parametrize(
    ("code", "words", "is_retryable"),
    [
        ("sys.exit('no\\nnetwork')", "failed with exit code 1: no network", True),
        ("sys.exit(3)", "failed with exit code 3: it printed nothing", True),
        ("print('token: x')", "did not write JSON", False),
        ("print('[]')", "wrote no ExecCredential", False),
        ("print('[' * 100000)", "did not write JSON", False),
        ("print('x' * 3_000_000)", "did not write JSON", False),
        ("say()", "neither a token nor a certificate", False),
        ("say(clientCertificateData='x')", "neither a token nor a certificate", False),
        ("say(token=5)", "gave a token that is not text", False),
        ("say(version='v2', token='t')", "answered with another apiVersion", False),
        ("say(token='t', expirationTimestamp='soon')", "that is not a time", False),
    ],
)
def test_a_plugin_that_fails_is_told_in_one_line(certificate, tmp_path, code, words, is_retryable):
    made = plugin(tmp_path, code)
    with pytest.raises(ApiError, match=words) as caught:
        ask(certificate, Login(plugin=made), context="here")
    assert str(caught.value).startswith(f"the exec plugin {made.command} of context 'here' ")
    assert "\n" not in str(caught.value)
    assert (caught.value.exit_code, caught.value.is_retryable) == (69, is_retryable)


def test_what_a_plugin_writes_beyond_a_mebibyte_is_not_kept(certificate, tmp_path):
    made = plugin(tmp_path, "print(' ' * 2**20); say(token='t')")
    with pytest.raises(ApiError, match=f"^the exec plugin {made.command} of "):
        ask(certificate, Login(plugin=made), context="here")


def test_a_plugin_that_is_missing_is_told_with_its_hint(certificate, tmp_path):
    made = plugin(tmp_path, "", command="no-such-program", hint="install it with apt")
    with pytest.raises(ApiError, match=r"cannot be started: No such file.*install it") as caught:
        ask(certificate, Login(plugin=made))
    assert caught.value.exit_code == 69


def test_a_plugin_that_hangs_is_killed_with_all_it_started(certificate, tmp_path, monkeypatch):
    monkeypatch.setattr(exec_plugin, "TIMEOUT", 0.5)
    made = plugin(tmp_path, "os.system('sleep 600')")
    with pytest.raises(ApiError, match=r"did not end within 0\.5 s"):
        ask(certificate, Login(plugin=made))


def test_leaving_while_a_plugin_runs_kills_it(certificate, tmp_path):
    begun = tmp_path / "begun"
    made = plugin(tmp_path, f"os.system('mkdir {begun}; sleep 600')")

    async def main():
        async with serving({POD: GOOD}, certificate, login=Login(plugin=made)) as (_, client):
            asking = asyncio.ensure_future(client.get("pods", "x"))
            while not (begun.exists() or asking.done()):  # noqa: ASYNC110  another process makes it
                await asyncio.sleep(0.01)
            asking.cancel()
            await asking

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(main())


def test_a_kubeconfig_with_a_plugin_leads_to_an_answer(certificate, tmp_path):
    plugin(tmp_path, "say(token='from-' + sys.argv[1])")
    user = {"exec": {"apiVersion": V1, "command": "./login", "args": ["me"]}}
    cluster = {"certificate-authority": f"{certificate}.crt"}

    async def main():
        async with serving({POD: GOOD}, certificate) as (server, ours):
            cluster["server"] = ours.server
            config = {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": cluster}],
                "users": [{"name": "u", "user": user}],
            }
            (tmp_path / "config").write_text(yaml.safe_dump(config))
            found = access("k8s:///tests", {"KUBECONFIG": str(tmp_path / "config")})
            async with Client(found) as client:
                await client.get("pods", "x")
            return shown(server)

    assert asyncio.run(main()) == ["Bearer from-me"]


@pytest.mark.parametrize("other", [False, True])
def test_another_certificate_of_a_plugin_is_used_from_then_on(
    certificate, other_certificate, tmp_path, other
):
    first, second = pem(certificate), pem(other_certificate if other else certificate)
    code = (
        f"crt, key = {first!r} if calls == 1 else {second!r}\n"
        "say(clientCertificateData=crt, clientKeyData=key)"
    )
    login = Login(plugin=plugin(tmp_path, code))

    async def main():
        ours = credentials.Credentials(Access("https://h", "tests", login=login))
        before = await ours.tls()
        assert await ours.tls() is before and await ours.renew()
        return await ours.tls() is not before

    assert asyncio.run(main()) == other
    assert calls(tmp_path) == 2


def test_connections_with_a_certificate_of_before_are_closed_when_they_have_answered(
    certificate, other_certificate, tmp_path
):
    pems = [pem(certificate), pem(other_certificate)]
    code = f"crt, key = {pems!r}[calls % 2]\nsay(clientCertificateData=crt, clientKeyData=key)"
    login = Login(plugin=plugin(tmp_path, code))

    async def main():
        async with serving({POD: GOOD}, certificate, login=login) as (_, client):
            connection, first = client._connection, None
            for _ in range(4):
                await client.get("pods", "x")
                first = first or connection._session
                await connection._credentials.renew()
            assert first is not connection._session and first.is_closed
            assert len(connection._retired) == 1

    asyncio.run(main())
    assert calls(tmp_path) == 4
