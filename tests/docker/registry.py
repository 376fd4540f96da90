"""A registry with one image, which holds a single file and no program at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


@contextmanager
def running_registry() -> Iterator[tuple[str, list[str]]]:
    """The name of the image, and the growing list of what was asked for."""
    blobs, manifest = _image()
    asked: list[str] = []

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            kind, _, digest = self.path.rpartition("/")
            if kind.endswith("/manifests"):
                self._answer(MANIFEST, manifest)
            else:
                self._answer("application/octet-stream", blobs.get(digest, b"{}"))

        do_HEAD = do_GET

        def _answer(self, kind: str, body: bytes) -> None:
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Docker-Content-Digest", _digest(body))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield f"127.0.0.1:{server.server_port}/hollow:1", asked
        finally:
            server.shutdown()
            thread.join()


def _image() -> tuple[dict[str, bytes], bytes]:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("nothing"))
    layer = gzip.compress(tar.getvalue())
    rootfs = {"type": "layers", "diff_ids": [_digest(tar.getvalue())]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs})
    blobs = {_digest(blob): blob for blob in (layer, config.encode())}
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": _described(CONFIG, config.encode()),
        "layers": [_described(LAYER, layer)],
    }
    return blobs, json.dumps(manifest).encode()


def _described(kind: str, blob: bytes) -> dict[str, object]:
    return {"mediaType": kind, "size": len(blob), "digest": _digest(blob)}


def _digest(blob: bytes) -> str:
    return f"sha256:{hashlib.sha256(blob).hexdigest()}"
