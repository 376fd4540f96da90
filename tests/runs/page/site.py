"""A page that is served on this machine, and runs for it to show."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
import time
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlencode

from tests.bounds import HANG
from tests.runs.test_recorder import Recorded
from tfmesos.runs.event_json import to_json
from tfmesos.runs.launcher_process import this_process
from tfmesos.runs.log_lines import written_line
from tfmesos.runs.page.serving import listening, serving
from tfmesos.runs.recorder import Recorder

DEAD = this_process().replace(started=1)


def add_run(store, name, *, launcher=DEAD, jobs=None, command=("tfrun", "--", "train"), **outcome):
    """A run in *store*, over unless a *launcher* lives."""
    run = store.create(lambda: name)
    about = {"id": name, "began": 1000.0, "launcher": to_json(launcher), "command": command}
    run.about_file.write_text(json.dumps({**about, "jobs": jobs or {"worker": 2}}))
    run.output.mkdir()
    if outcome:
        run.outcome_file.write_text(json.dumps({"ended": 1060.0, **outcome}))
    return run


def write_log(run, task, *lines, stream="stdout"):
    with run.log_file(task).open("ab") as log:
        for line in lines:
            log.write(written_line(1000.0, stream, f"{line}\n"))


class Told(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str


class Visitor:
    """Asks the page over real connections, as a browser or as somebody else."""

    def __init__(self, served):
        self.served, self.path = served, served.path
        self.host = f"127.0.0.1:{served.port}"
        self.cookie = None

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=HANG)

    def ask(self, target, method="GET", body=None, **headers):
        """*target* is below the path of the page, unless it begins with a slash."""
        cookie = {"Cookie": self.cookie} if self.cookie else {}
        given = {
            "Host": self.host,
            **cookie,
            **{k.replace("_", "-"): v for k, v in headers.items()},
        }
        connection = self.connection()
        try:
            path = target if target.startswith("/") else self.path + target
            connection.request(method, path, body, {k: v for k, v in given.items() if v})
            answer = connection.getresponse()
            found = {key.lower(): value for key, value in answer.getheaders()}
            return Told(answer.status, found, answer.read().decode())
        finally:
            connection.close()

    def enter(self):
        """Exchange a link for the cookie."""
        told = self.ask(self.link())
        assert told.status == 200
        self.cookie = told.headers["set-cookie"].partition(";")[0]
        return self

    def link(self, run_id=None):
        return self.served.link(run_id).partition(self.host)[2]

    def order(self, do, origin="own", **more):
        headers = {"Origin": f"http://{self.host}" if origin == "own" else origin}
        return self.ask("order", "POST", json.dumps({"do": do, **more}), **headers)

    def events(self, **query):
        """All events of a stream that ends, as pairs of name and data."""
        return parsed(self.ask(f"events?{urlencode(query)}").text)


def parsed(text):
    found = []
    for block in text.split("\n\n")[:-1]:
        if not block.startswith(":"):
            name, data = block.split("\n")
            found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


@contextmanager
def served_page(store):
    """A Visitor of a page in a thread of this process."""
    ready, found = threading.Event(), {}

    async def main():
        found["loop"], found["end"] = asyncio.get_running_loop(), asyncio.Event()
        async with serving(listening(0), store) as found["served"]:
            ready.set()
            await found["end"].wait()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    ready.wait(HANG)
    try:
        yield Visitor(found["served"])
    finally:
        found["loop"].call_soon_threadsafe(found["end"].set)
        thread.join(HANG)


def recorded_run(store, *jobs):
    """A run whose tasks are all up, replayed into its record. It goes on as long as this process
    lives."""
    about = {
        "id": "aaaa",
        "began": time.time(),
        "launcher": to_json(this_process()),
        "command": ["tfrun", "-w", "2", "--", "python", "train.py"],
        "jobs": {job.name: job.num for job in jobs},
        "cwd": "/",
    }
    recorder = Recorder(store.create(lambda: "aaaa"), about, print)
    return Recorded(recorder, *jobs).up()
