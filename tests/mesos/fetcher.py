"""mesos-fetcher: copies the URIs of a task into its sandbox; reads MESOS_FETCHER_INFO."""

import json
import os
import shutil
import sys
import urllib.request
from pathlib import Path

ARCHIVES = (".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".zip")


def main():
    info = json.loads(os.environ["MESOS_FETCHER_INFO"])
    sandbox = Path(info["sandbox_directory"])
    for item in info.get("items", []):
        fetch(item["uri"], sandbox)


def fetch(uri, sandbox):
    source = uri["value"]
    target = sandbox / (uri.get("output_file") or os.path.basename(source.partition("?")[0]))
    url = source if "://" in source else f"file://{source}"
    with urllib.request.urlopen(url, timeout=60) as content, target.open("wb") as file:
        shutil.copyfileobj(content, file)
    if uri.get("executable"):
        target.chmod(0o755)
    elif uri.get("extract", True) and target.name.endswith(ARCHIVES):
        shutil.unpack_archive(target, sandbox)


try:
    main()
except OSError as error:
    sys.exit(f"Failed to fetch: {error}")
