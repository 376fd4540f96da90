"""The authority of a cluster, and a certificate for each of its daemons."""

from __future__ import annotations

import base64
from pathlib import Path

from .build import run


class Certificates:
    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.directory = directory
        (directory / "config").write_text("[req]\ndistinguished_name = dn\n[dn]\n")
        self._make(
            *("ca", "/CN=tests", "basicConstraints=critical,CA:TRUE"),
            *("keyUsage=critical,keyCertSign", "subjectKeyIdentifier=hash"),
        )
        curve = ("-name", "prime256v1", "-genkey", "-noout")
        run("openssl", "ecparam", *curve, "-out", self.key("serviceaccounts"))

    def issue(self, name: str, subject: str, *alternatives: str) -> None:
        """*alternatives* are the names of a server, as in ``IP:127.0.0.1``."""
        names = [f"subjectAltName={','.join(alternatives)}"] if alternatives else []
        extensions = ("basicConstraints=CA:FALSE", "authorityKeyIdentifier=keyid")
        authority = ("-CA", self.file("ca"), "-CAkey", self.key("ca"))
        self._make(name, subject, *names, *extensions, options=authority)

    def _make(self, name: str, subject: str, *extensions: str, options: tuple = ()) -> None:
        kind = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1")
        where = ("-keyout", self.key(name), "-out", self.file(name))
        added = [word for extension in extensions for word in ("-addext", extension)]
        config = ("-config", self.directory / "config", "-subj", subject)
        run(
            "openssl",
            "req",
            "-x509",
            "-nodes",
            "-days",
            30,
            *kind,
            *config,
            *where,
            *options,
            *added,
        )

    def file(self, name: str) -> Path:
        return self.directory / f"{name}.crt"

    def key(self, name: str) -> Path:
        return self.directory / f"{name}.key"

    def of_user(self, name: str) -> dict[str, str]:
        """As a kubeconfig has them."""
        return {
            "client-certificate-data": encoded(self.file(name)),
            "client-key-data": encoded(self.key(name)),
        }


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
