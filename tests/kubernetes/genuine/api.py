"""The least client that shows all a Kubernetes API says, to arrange tests and to look at them."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.bounds import HANG


class Refused(Exception):
    """An answer that is not 2xx; *status* is that of HTTP, *body* mostly a ``kind: Status``."""

    def __init__(self, status: int, body: Any) -> None:
        said = body.get("message", body) if isinstance(body, dict) else body
        super().__init__(f"{status}: {said}")
        self.status, self.body = status, body


class Api:
    """One user of one kubeconfig, which is JSON here."""

    def __init__(self, kubeconfig: Path, context: str) -> None:
        config = json.loads(kubeconfig.read_text())
        chosen = named(config["contexts"], context)["context"]
        cluster = named(config["clusters"], chosen["cluster"])["cluster"]
        user = named(config["users"], chosen["user"])["user"]
        self.address = urlsplit(cluster["server"]).netloc
        authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
        self.tls = ssl.create_default_context(cadata=authority)
        self.headers = {"Accept": "application/json"}
        if "token" in user:
            self.headers["Authorization"] = f"Bearer {user['token']}"
        else:
            self._load(user)

    def _load(self, user: dict[str, str]) -> None:
        """ssl takes a certificate and its key from files only."""
        with tempfile.NamedTemporaryFile() as file:
            for name in ("client-certificate-data", "client-key-data"):
                file.write(base64.b64decode(user[name]))
            file.flush()
            self.tls.load_cert_chain(file.name)

    @property
    def minor_version(self) -> int:
        """Of the server: 20 for 1.20."""
        return int(self.get("/version")["minor"].rstrip("+"))

    def get(self, path: str, timeout: float = HANG) -> Any:
        return self.ask("GET", path, timeout=timeout)

    def items(self, path: str) -> list[dict[str, Any]]:
        return self.get(path)["items"]

    def post(self, path: str, body: object) -> Any:
        return self.ask("POST", path, body)

    def patch(self, path: str, body: object) -> Any:
        """A merge patch."""
        return self.ask("PATCH", path, body)

    def delete(self, path: str) -> Any:
        return self.ask("DELETE", path)

    def ask(self, method: str, path: str, body: object = None, timeout: float = HANG) -> Any:
        """The decoded answer; Refused when the server says no."""
        with self.answer(method, path, body, timeout) as response:
            return decoded(response)

    def watch(self, path: str, timeout: float = HANG) -> Iterator[dict[str, Any]]:
        sign = "&" if "?" in path else "?"
        with self.answer("GET", f"{path}{sign}watch=1", None, timeout) as response:
            while line := response.readline():
                yield json.loads(line)

    @contextmanager
    def answer(
        self, method: str, path: str, body: object, timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        data = None if body is None else json.dumps(body)
        connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=timeout)
        try:
            connection.request(method, path, data, {**self.headers, "Content-Type": kind})
            response = connection.getresponse()
            if response.status >= 300:
                raise Refused(response.status, decoded(response))
            yield response
        finally:
            connection.close()


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(entry for entry in entries if entry["name"] == name)


def decoded(response: http.client.HTTPResponse) -> Any:
    data = response.read().decode()
    return json.loads(data) if "json" in response.getheader("Content-Type", "") else data
