"""What the page answers its owner."""

import json
import socket

import pytest

from tests.bounds import HANG
from tests.runs.page.site import add_run, parsed, served_page, write_log
from tfmesos.runs.launcher_process import this_process
from tfmesos.runs.page import serving, site
from tfmesos.runs.page.output_view import MOST_LINES

NAMES_OF_OTHER_FILES = (
    "../aaaa",
    "../../runs/aaaa",
    "aaaa/",
    "aaa",
    "",
    ".",
    "%2e%2e/aaaa",
    "bbbb",
)
NO_TASKS = (
    "../run",
    "worker:2",
    "worker:-1",
    "worker:00",
    "worker",
    "../../x:0",
    "run.json",
    "%00",
)


def test_a_run_that_is_over_is_told_whole_and_then_its_stream_ends(owner, store):
    run = add_run(store, "aaaa", exit_code=3, report=["worker:0 exited with 3"])
    write_log(run, "worker:0", "one", "two")
    write_log(run, "worker:1", "wrong", stream="stderr")
    (first, told), (second, output), (last, _) = owner.events(run="aaaa")
    assert (first, second, last) == ("run", "output", "end")
    assert (told["phase"], told["code"], told["is_over"]) == ("failed", 3, True)
    assert told["report"]["headline"] == "worker:0 exited with 3"
    assert told["ended"] == 1060.0 and told["command"] == "train"
    assert sorted(line[1:] for line in output["lines"]) == [
        ["worker:0", "stdout", "one"],
        ["worker:0", "stdout", "two"],
        ["worker:1", "stderr", "wrong"],
    ]


def test_the_output_of_one_task_and_with_one_text_can_be_had(owner, store):
    run = add_run(store, "aaaa")
    write_log(run, "worker:0", "Loss 1", "other", "LOSS 2", "out 2026")
    write_log(run, "worker:1", "loss 3")

    def found(**query):
        (output,) = [data for name, data in owner.events(run="aaaa", **query) if name == "output"]
        return [line[3] for line in output["lines"]]

    assert found(task="worker:0", find="loss") == ["Loss 1", "LOSS 2"]
    assert found(find="loss") == ["Loss 1", "LOSS 2", "loss 3"]
    assert found(task="worker:0", find="1970") == []  # what was written, not when


def test_of_a_long_log_the_end_is_told_and_how_much_was_before(owner, store):
    run = add_run(store, "aaaa")
    write_log(run, "worker:0", *range(MOST_LINES + 500))
    (output,) = [data for name, data in owner.events(run="aaaa") if name == "output"]
    assert output["left_out"] == 500
    assert [line[3] for line in output["lines"]] == [str(n) for n in range(500, MOST_LINES + 500)]


def test_of_a_huge_log_only_the_end_is_read(owner, store):
    run = add_run(store, "aaaa")
    write_log(run, "worker:0", *("x" * 1000 for _ in range(4000)), "the last")
    (output,) = [data for name, data in owner.events(run="aaaa") if name == "output"]
    assert output["left_out"] == 0 and 900 < len(output["lines"]) < 1100
    assert output["lines"][-1][3] == "the last"


def test_control_characters_and_endless_lines_do_not_reach_the_page(owner, store):
    write_log(add_run(store, "aaaa"), "worker:0", "\x1b]0;title\x07red \x1b[31mred", "y" * 9000)
    (output,) = [data for name, data in owner.events(run="aaaa") if name == "output"]
    assert output["lines"][0][3] == "red red"
    assert output["lines"][1][3] == "y" * 4000 + " (5000 characters left out)"


@pytest.mark.parametrize("name", NAMES_OF_OTHER_FILES)
def test_a_run_is_found_by_its_whole_id_only_and_no_name_becomes_a_path(owner, store, name):
    write_log(add_run(store, "aaaa"), "worker:0", "one")
    assert [event for event, _ in owner.events(run=name)] == ["gone", "end"]
    assert owner.ask(f"log?run={name}&task=worker:0").status == 404
    assert owner.order("stop", run=name).status == 404


@pytest.mark.parametrize("task", NO_TASKS)
def test_a_task_that_the_run_does_not_have_is_not_looked_for(owner, store, task):
    write_log(add_run(store, "aaaa"), "worker:0", "one")
    assert [event for event, _ in owner.events(run="aaaa", task=task)] == ["gone", "end"]
    assert owner.ask(f"log?run=aaaa&task={task}").status == 404
    assert owner.order("restart", run="aaaa", task=task).status == 404


@pytest.mark.parametrize("name", ["../site.py", "..%2fsite.py", "static/app.js", "%2e%2e/x", "x"])
def test_only_the_files_of_the_page_are_served(owner, name):
    assert owner.ask(name).status == 404


def test_the_whole_log_of_a_task_is_a_file_that_no_browser_shows(owner, store):
    run = add_run(store, "aaaa")
    write_log(run, "worker:0", *range(12_000))
    told = owner.ask("log?run=aaaa&task=worker:0")
    assert told.text.encode() == run.log_file("worker:0").read_bytes()
    assert told.headers["content-disposition"] == 'attachment; filename="aaaa-worker-0.log"'
    assert told.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("body", ["", "x", "[]", "{}", '{"do": "prune"}', '{"do": []}', "[" * 4000])
def test_what_is_no_order_is_refused(owner, body):
    told = owner.ask("order", "POST", body, Origin=f"http://{owner.host}")
    assert (told.status, told.text) == (400, "This is not a command.\n")


@pytest.mark.parametrize("do", ["exec", "cp", "copy_in", "copy_out", "forward", "inside", "stay"])
def test_the_page_can_do_nothing_inside_a_task_but_show_stacks(owner, store, do):
    write_log(add_run(store, "aaaa"), "worker:0", "one")
    request = {"do": do, "argv": ["true"], "path": "x", "port": 1}
    told = owner.order(do, run="aaaa", task="worker:0", request=request, argv=["true"])
    assert (told.status, told.text) == (400, "This is not a command.\n")


def test_an_order_too_long_to_be_one_is_refused(owner):
    assert owner.ask("order", "POST", "x" * 5000, Origin=f"http://{owner.host}").status == 413


def test_why_a_run_cannot_be_controlled_is_said(owner, store):
    add_run(store, "aaaa", exit_code=0)
    told = owner.order("stop", run="aaaa")
    assert (told.status, told.text) == (409, "run aaaa is over\n")
    assert owner.order("restart", run="aaaa").status == 404  # which task?


def test_an_order_is_only_given_by_post(owner):
    assert owner.ask("order").status == 404
    assert owner.ask("", "POST", "{}", Origin=f"http://{owner.host}").status == 405


def read_events(stream, number):
    """So many events of a stream that goes on."""
    text = ""
    while len(parsed(text)) < number:
        line = stream.readline().decode()
        assert line, f"the stream ended after {text!r}"
        text += line
    return parsed(text)


def open_stream(owner, query=""):
    connection = owner.connection()
    connection.request("GET", f"{owner.path}events{query}", headers={"Cookie": owner.cookie})
    return connection, connection.getresponse()


def close(connection, stream):
    stream.close()
    connection.close()


def test_the_list_of_runs_changes_as_they_come_and_end(owner, store):
    connection, stream = open_stream(owner)
    assert read_events(stream, 1)[0][1]["runs"] == []
    run = add_run(store, "aaaa", launcher=this_process())
    (name, data) = read_events(stream, 1)[0]
    assert name == "runs"
    assert [(row["id"], row["phase"], row["ended"]) for row in data["runs"]] == [
        ("aaaa", "starting", None)
    ]
    run.outcome_file.write_text(json.dumps({"ended": 1060.0, "exit_code": 0}))
    ((_, data),) = read_events(stream, 1)
    assert [(row["phase"], row["ended"]) for row in data["runs"]] == [("succeeded", 1060.0)]
    close(connection, stream)


def test_lines_come_as_they_are_written(owner, store):
    run = add_run(store, "aaaa", launcher=this_process())
    connection, stream = open_stream(owner, "?run=aaaa&task=worker:0")
    assert [name for name, _ in read_events(stream, 2)] == ["run", "output"]
    write_log(run, "worker:0", "now")
    ((_, output),) = read_events(stream, 1)
    assert [line[3] for line in output["lines"]] == ["now"]
    close(connection, stream)


def test_no_more_streams_than_pages_are_looked_at_and_a_closed_one_makes_room(owner, monkeypatch):
    monkeypatch.setattr(site, "MOST_STREAMS", 2)
    first, second = open_stream(owner), open_stream(owner)
    for _, stream in (first, second):
        read_events(stream, 1)
    assert owner.ask("events").status == 503
    close(*first)
    while (third := open_stream(owner))[1].status == 503:
        close(*third)
    close(*second)
    close(*third)


def test_strangers_who_say_nothing_keep_the_owner_out_of_nothing(owner):
    waiting = [socket.create_connection(("127.0.0.1", owner.served.port)) for _ in range(80)]
    assert owner.ask("").status == 200
    for connection in waiting:
        connection.settimeout(HANG)
        connection.close()


def test_only_who_has_shown_the_cookie_may_stay(store, monkeypatch):
    monkeypatch.setattr(serving, "PROVE_WITHIN", 0.3)
    with served_page(store) as visitor:
        connection, stream = open_stream(visitor.enter())
        read_events(stream, 1)
        with socket.create_connection(("127.0.0.1", visitor.served.port)) as stranger:
            stranger.settimeout(HANG)
            assert stranger.recv(1) == b""
        add_run(store, "aaaa")
        assert read_events(stream, 1)[0][1]["runs"][0]["id"] == "aaaa"
        close(connection, stream)
