"""python egg.py DIRECTORY: get libmesos 1.11.0 out of PyPI's mesos.scheduler, by package name.

pip itself cannot download it, for it no longer knows eggs. So its own code is asked where its
index is and how to talk to it (certificates, proxies), whatever its configuration says.
"""

from __future__ import annotations

import hashlib
import html
import io
import os
import re
import sys
import zipfile
from pathlib import Path
from urllib.parse import urldefrag, urljoin

PACKAGE = "mesos-scheduler"
EGG = "mesos.scheduler-1.11.0-py2.7-linux-x86_64.egg"
SHA256 = "4940ebb70894ee004cf8a12b7b66b52a351be1070ec2a4e6f7dae4ec04f8cb61"
MEMBER = "mesos/scheduler/_scheduler.so"
LIBRARY = "_scheduler.so"


def fetch(directory: Path) -> None:
    """Put the library into *directory*, whole or not at all."""
    from pip._internal.commands import create_command

    command = create_command("download")
    options, _ = command.parse_args([])
    indexes = [options.index_url, *options.extra_index_urls]
    with command.main_context():
        egg = download(command.get_default_session(options), indexes)
    part = directory / f"{LIBRARY}.{os.getpid()}"
    part.write_bytes(zipfile.ZipFile(io.BytesIO(egg)).read(MEMBER))
    part.replace(directory / LIBRARY)


def download(session, indexes: list[str]) -> bytes:
    troubles = []
    for index in indexes:
        try:
            egg = session.get(link_in(session, index), headers={"Accept-Encoding": "identity"})
            egg.raise_for_status()
            return checked(egg.content)
        except Exception as error:  # of any library that pip uses
            troubles.append(type(error).__name__)
    raise SystemExit(f"no index of pip's gives {EGG}: {', '.join(troubles)}")


def link_in(session, index: str) -> str:
    page = session.get(f"{index.rstrip('/')}/{PACKAGE}/", headers={"Accept": "text/html"})
    page.raise_for_status()
    links = [html.unescape(link) for link in re.findall(r'href="([^"]+)"', page.text)]
    (link,) = [link for link in links if urldefrag(link).url.rpartition("/")[2] == EGG]
    return urldefrag(urljoin(page.url, link)).url


def checked(egg: bytes) -> bytes:
    """Everything in host.cpp is about this very file."""
    found = hashlib.sha256(egg).hexdigest()
    if found != SHA256:
        raise SystemExit(f"{EGG} has the sha256 {found}, expected {SHA256}")
    return egg


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
