"""A run with a page of its own beside it, as a TensorBoard that needs no TensorFlow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.request import urlopen

from tests.bounds import HANG
from tests.commands import read_until, running_tfrun

# Answers with the address where it listens.
BOARD = """import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = ":".join(map(str, self.server.server_address)).encode()
        self.send_response(200), self.send_header("Content-Length", str(len(text)))
        self.end_headers(), self.wfile.write(text)
where = (os.environ["TFMESOS_HOST"], int(os.environ["TFMESOS_PORT"]))
http.server.ThreadingHTTPServer(where, Page).serve_forever()
"""
JOB = """jobs:
  worker: {{num: 1, cpus: 0.1, mem: 128, cmd: "until [ -e {0}/done ]; do sleep 0.05; done"}}
  tensorboard: {{num: 1, cpus: 0.1, mem: 128, cmd: "exec {1} {0}/board.py"}}
"""


def job_file(place):
    (place / "board.py").write_text(BOARD)
    (place / "job.yaml").write_text(JOB.format(place, sys.executable))
    return place / "job.yaml"


def announced(launcher) -> str:
    """The address that the launcher names, once the board answers there."""
    (*_, last) = read_until(launcher.stderr, "TensorBoard is at ")
    return re.search(r"http://(\S+)", last)[1]


def page(address) -> str:
    with urlopen(f"http://{address}/", timeout=HANG) as answer:
        return answer.read().decode()


@contextmanager
def running_board(*flags, place) -> Iterator[tuple[str, str]]:
    """Where a run with these *flags* says that the board is, and where it listens."""
    with running_tfrun(job_file(place), *flags) as launcher:
        address = announced(launcher)
        yield address, page(address)
        (place / "done").touch()
        assert launcher.wait(HANG) == 0, launcher.stderr.read()


def check_board(*flags, place) -> None:
    """On any cluster: it listens at the loopback of its node, and another port leads to it."""
    with running_board(*flags, place=place) as (address, listens_at):
        assert address.startswith("127.0.0.1:") and listens_at.startswith("127.0.0.1:")
        assert address != listens_at
