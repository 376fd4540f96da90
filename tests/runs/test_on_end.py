"""What is done when a run has ended; a failure of it is a warning and changes nothing."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.ports import free_port
from tests.sentences import names
from tfmesos.core.outcome import Outcome
from tfmesos.errors import Interrupted, TaskFailed
from tfmesos.runs import on_end
from tfmesos.runs.on_end import do_on_end, facts_of

FACTS = facts_of("k7xq", "mnist", Outcome(error=TaskFailed("worker:0", "exited with 3", 3)), 1.5)


def done(wanted, facts=FACTS):
    """The warnings that came of it."""
    complaints = []
    do_on_end(wanted, facts, complaints.append)
    return complaints


@contextmanager
def server(status):
    """Its port, and the requests it had."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Content-Type"], json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever)
        thread.start()
        try:
            yield listening.server_port, asked
        finally:
            listening.shutdown()
            thread.join()


@pytest.mark.parametrize(
    "error, state, code",
    [
        (None, "succeeded", 0),
        (TaskFailed("worker:0", "exited with 3", 3), "failed", 3),
        (Interrupted("stopped by its owner"), "stopped", 130),
    ],
)
def test_the_facts_tell_how_the_run_ended(error, state, code):
    facts = facts_of("k7xq", "mnist", Outcome(error=error), 1.25)
    assert (facts["state"], facts["exit_code"], facts["seconds"]) == (state, code, 1.25)
    assert facts["reason"] == str(error or "")


def test_no_password_is_told():
    error = TaskFailed("worker:0", "could not reach zk://me:hush@host/mesos")
    facts = facts_of("k7xq", "tfrun -m zk://me:hush@host/mesos", Outcome(error=error), 1.0)
    assert "hush" not in json.dumps(facts) and "***@host" in facts["reason"]


def test_a_command_finds_the_facts_in_its_environment(tmp_path):
    file = tmp_path / "told"
    variables = "$TFMESOS_RUN $TFMESOS_STATE $TFMESOS_EXIT_CODE $TFMESOS_SECONDS $TFMESOS_REASON"
    assert done(f'echo "{variables}" > {file}') == []
    assert file.read_text() == "k7xq failed 3 1.5 worker:0 exited with 3\n"


def test_the_output_of_a_command_goes_to_standard_error(capfd):
    assert done("echo hello") == []
    assert capfd.readouterr() == ("", "hello\n")


def test_a_command_that_fails_or_does_not_end_is_a_warning(monkeypatch):
    (failed,) = done("exit 7")
    assert names(failed, "on_end exited with 7", "run itself ended with 3")
    monkeypatch.setattr(on_end, "COMMAND_WITHIN", 0.2)
    (late,) = done("sleep 1000 & sleep 1000")
    assert names(late, "0.2 s", "killed")


def test_a_url_gets_the_facts_as_json():
    with server(204) as (port, asked):
        assert done(f"http://127.0.0.1:{port}/hook?token=hush") == []
    assert asked == [("/hook?token=hush", "application/json", FACTS)]


def test_an_answer_that_is_no_success_is_a_warning_without_the_address():
    with server(500) as (port, _):
        (said,) = done(f"http://127.0.0.1:{port}/hook?token=hush")
    assert "answered with 500" in said and "hush" not in said


def test_a_server_that_is_not_there_or_does_not_answer_is_a_warning(monkeypatch):
    (said,) = done(f"http://127.0.0.1:{free_port()}/hush")
    assert said.startswith("the POST of on_end to 127.0.0.1 failed") and "hush" not in said
    monkeypatch.setattr(on_end, "POST_WITHIN", 0.0)
    with server(204) as (port, _):
        (said,) = done(f"http://127.0.0.1:{port}/")
    assert "had no answer within 0 s" in said
