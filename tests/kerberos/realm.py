"""A genuine Kerberos realm of its own: a KDC on 127.0.0.1, principals, keytabs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bounds import HANG
from tests.ports import free_port

REALM = "TFMESOS.TEST"
SBIN = f"{os.environ.get('PATH', '')}:/usr/sbin"
NEEDED = ("krb5kdc", "kdb5_util", "kadmin.local", "kinit", "klist")

CLIENT_CONF = """[libdefaults]
    default_realm = {realm}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    udp_preference_limit = 1
    kdc_timeout = 2000
    max_retries = 1
[realms]
    {realm} = {{
        kdc = 127.0.0.1:{port}
    }}
"""
KDC_CONF = """[kdcdefaults]
    kdc_ports = ""
    kdc_tcp_ports = ""
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{port}
[realms]
    {realm} = {{
        database_name = {place}/principal
        key_stash_file = {place}/stash
        acl_file = {place}/acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal
        master_key_type = aes256-cts-hmac-sha1-96
    }}
[logging]
    kdc = FILE:{place}/kdc.log
"""


class CannotRun(Exception):
    """Why there can be no realm here."""


class Realm:
    def __init__(self, place: Path) -> None:
        missing = [name for name in NEEDED if not shutil.which(name, path=SBIN)]
        if missing:
            raise CannotRun(f"{', '.join(missing)} missing: krb5-kdc, krb5-admin-server, krb5-user")
        self.place, self.port = place, free_port()
        values = {"realm": REALM, "place": place, "port": self.port}
        self.conf = place / "krb5.conf"
        self.conf.write_text(CLIENT_CONF.format(**values))
        (place / "kdc.conf").write_text(KDC_CONF.format(**values))
        self.env = {
            **os.environ,
            "PATH": SBIN,
            "LC_ALL": "C",
            "KRB5_CONFIG": str(self.conf),
            "KRB5_KDC_PROFILE": str(place / "kdc.conf"),
        }
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "of no importance")

    def keytab(self, principal: str, *options: str) -> Path:
        """The keytab of a new principal."""
        file = self.place / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "-r", REALM, "addprinc", "-randkey", *options, principal)
        self._run("kadmin.local", "-r", REALM, "ktadd", "-norandkey", "-k", str(file), principal)
        file.chmod(0o600)
        return file

    def _run(self, *command: str) -> None:
        subprocess.run(command, env=self.env, check=True, capture_output=True)

    @contextmanager
    def running(self) -> Iterator[Realm]:
        """With its KDC."""
        log = (self.place / "kdc.out").open("wb")
        with (
            log,
            subprocess.Popen(
                ["krb5kdc", "-n", "-r", REALM], env=self.env, stdout=log, stderr=log
            ) as kdc,
        ):
            try:
                self._wait_for(kdc)
                yield self
            finally:
                kdc.terminate()

    def _wait_for(self, kdc: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + HANG
        while "commencing operation" not in self._log():
            assert kdc.poll() is None and time.monotonic() < end, self._log()
            time.sleep(0.02)

    def _log(self) -> str:
        found = [self.place / name for name in ("kdc.log", "kdc.out")]
        return "".join(path.read_text() for path in found if path.exists())
