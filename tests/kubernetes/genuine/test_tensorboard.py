"""TensorBoard beside the tasks of a run: a browser here finds it, although it is in a pod."""

from __future__ import annotations

import json
import re
from http.client import HTTPException
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.commands import finish, read_until, running_tfrun, tfrun
from tests.mesos.genuine.cluster import wait_until

from .pods import SMALL, on_kubernetes

pytestmark = pytest.mark.rig("its nodes have the files of this machine")

board = pytest.importorskip("tensorboard", reason="TensorBoard is missing: pip install tensorboard")
PACKAGES = Path(board.__file__).parents[1]
SCRIPT = """#!/usr/bin/python3
import sys, types
sys.modules["tensorboard.compat.notf"] = types.ModuleType("notf")  # so it imports no TensorFlow
from tensorboard.main import run_main
run_main()
"""


def linked():
    return json.loads(tfrun("status", "--json").stdout)["tensorboard"]


def test_its_page_answers_at_the_address_that_is_named(kube, tmp_path):
    (tmp_path / "tensorboard").write_text(SCRIPT)
    (tmp_path / "tensorboard").chmod(0o755)
    lent = (
        *("-V", f"{PACKAGES}:/packages:ro", "--env", "PYTHONPATH=/packages"),
        *("-V", f"{tmp_path}/tensorboard:/usr/local/bin/tensorboard:ro"),
        *("-V", f"{tmp_path}:/shared:ro", "--tensorboard", "/shared/events"),
    )
    words = on_kubernetes("-w", 1, *SMALL, *lent, "--stop-grace", 1)
    wait = "until [ -e /shared/go ]; do sleep 0.05; done"
    with running_tfrun(*words, "--", wait) as run:
        (*_, line) = read_until(run.stderr, "TensorBoard is at")
        address = re.search(r"http://127\.0\.0\.1:\d+$", line)[0]
        wait_until("it answers", lambda: "html" in page(address, "/"))
        assert json.loads(page(address, "/data/environment"))["data_location"] == "/shared/events"
        wait_until("it is written down", lambda: linked() == [address])
        (tmp_path / "go").touch()
        _, err = finish(run)
    assert run.returncode == 0, err
    assert page(address, "/") == ""


def page(address, path):
    """Empty as long as nobody answers."""
    try:
        with urlopen(f"{address}{path}") as answer:
            return answer.read().decode()
    except (URLError, HTTPException, OSError):
        return ""
