"""A job file is read with the line of each key; what is wrong with it is one line."""

from __future__ import annotations

import json

import pytest

from tests.sentences import begins
from tfmesos.errors import SpecError
from tfmesos.jobfiles.reading import MAX_BYTES, read
from tfmesos.jobfiles.translation import JobFileError, dotted

YAML = """\
# two workers
name: mnist
cmd: [python, train.py]
jobs:
  worker:
    num: 2
    mem: 2G
volumes:
  - /data:/data
"""
TOML = """\
# two workers
name = "mnist"
cmd = ["python", "train.py"]
volumes = ["/data:/data"]

[jobs.worker]
num = 2
mem = "2G"
"""
JSON = """{
  "name": "mnist",
  "cmd": ["python",
          "train.py"],
  "jobs": {
    "worker": {"num": 2,
\t\t"mem": "2G"}
  },
  "volumes": ["/data:/data"]
}
"""
DOCUMENT = {
    "name": "mnist",
    "cmd": ["python", "train.py"],
    "jobs": {"worker": {"num": 2, "mem": "2G"}},
    "volumes": ["/data:/data"],
}


@pytest.mark.parametrize(
    "text, name, line",
    [(YAML, "a.yaml", 7), (YAML, "a.yml", 7), (TOML, "a.toml", 8), (JSON, "a.json", 7)],
)
def test_three_formats_say_the_same_and_know_their_lines(text, name, line):
    tree = read(text.encode(), name)
    assert tree.value == DOCUMENT
    assert tree.lines["jobs", "worker", "mem"] == line
    assert tree.lines["name",] == 2


@pytest.mark.parametrize("text", [YAML, TOML, JSON], ids=["yaml", "toml", "json"])
def test_standard_input_tells_its_format_by_its_beginning(text):
    assert read(text.encode(), "standard input").value == DOCUMENT


@pytest.mark.parametrize("text, name", [(YAML, "a.yaml"), (JSON, "a.json")])
def test_the_items_of_a_list_have_lines_too(text, name):
    tree = read(text.encode(), name)
    assert tree.lines["cmd", 1] == (3 if text is YAML else 4)
    assert tree.lines["volumes", 0] == 9


@pytest.mark.parametrize(
    "text, value",
    [
        ("no", "no"),
        ("on", "on"),
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("010", "010"),
        ("=2222", "=2222"),
        ("1_000", "1_000"),
        (".inf", ".inf"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("0.5", 0.5),
        ("1e3", 1000.0),
        ("1" * 30, "1" * 30),
        ('"5"', "5"),
        ("!!str 5", "5"),
    ],
)
def test_a_word_of_yaml_is_what_it_looks_like(text, value):
    found = read(f"x: {text}".encode(), "a.yaml").value["x"]
    assert (found, type(found)) == (value, type(value))


def test_an_anchor_may_stand_for_what_several_jobs_share():
    text = "a: &a {mem: 64, cpus: 1}\nb: {<<: *a, cpus: 2}\nc: {<<: [{mem: 1}, *a]}\nd: *a\n"
    value = read(text.encode(), "a.yaml").value
    assert value["b"] == {"mem": 64, "cpus": 2}
    assert value["c"] == {"mem": 1, "cpus": 1}
    assert value["d"] == {"mem": 64, "cpus": 1}


LAUGHS = "a: &a [x, x]\n" + "".join(
    f"{n}: &{n} [*{m}, *{m}, *{m}, *{m}]\n"
    for m, n in zip("abcdefghijk", "bcdefghijkl", strict=True)
)
MERGED = "a: &a {x: 1}\n" + "".join(
    f"{n}: &{n} {{<<: [*{m}, *{m}, *{m}, *{m}]}}\n"
    for m, n in zip("abcdefghijk", "bcdefghijkl", strict=True)
)


@pytest.mark.parametrize(
    "text, name, said",
    [
        ("a: 1\nb: 2\na: 3\n", "j.yaml", "j.yaml:3: a is given twice, first in line 1"),
        ("a:\n  b: 1\n  b: 2\n", "j.yaml", "j.yaml:3: b is given twice, first in line 2"),
        ('{"a": {"b": 1,\n"b": 2}}', "j.json", "j.json:2: b is given twice, first in line 1"),
        ("a = 1\na = 2\n", "j.toml", "j.toml:2: is not valid TOML: Cannot overwrite a value"),
        (LAUGHS, "j.yaml", "j.yaml:1: contains more than 100,000 values"),
        (MERGED, "j.yaml", "j.yaml:1: contains more than 100,000 values"),
        ("a: &a [*a]\n", "j.yaml", "j.yaml:1: is nested more than 50 levels deep"),
        ("jobs:\n\tworker: 1\n", "j.yaml", "j.yaml:2: has a tab"),
        ("a: [1\nb: 2\n", "j.yaml", "j.yaml:2: "),
        ("a: !!python/name:os.system x", "j.yaml", "j.yaml:1: has a tag 'python/name:os.system'"),
        ("a: !!int x", "j.yaml", "j.yaml:1: 'x' is not a valid int"),
        ("a: !!set {x}", "j.yaml", "j.yaml:1: has a tag 'set'"),
        ("a: *b", "j.yaml", "j.yaml:1: found undefined alias"),
        ("<<: 5", "j.yaml", "j.yaml:1: << ... an anchor"),
        ("? [a]\n: 1", "j.yaml", "j.yaml:1: has a key ... a string"),
        ("a: 1\n---\nb: 1\n", "j.yaml", "j.yaml:3: ... one document, ... TFJob: "),
        ("a: \x07", "j.yaml", "j.yaml: is not valid YAML: unacceptable character"),
        ("[" * 60 + "]" * 60, "j.yaml", "j.yaml:1: is nested more than 50 levels deep"),
        ("[" * 1000, "j.yaml", "j.yaml: is nested more than 50 levels deep"),
        ("[" * 5000, "j.json", "j.json: is nested more than 50 levels deep"),
        ("[" * 60 + "]" * 60, "j.json", "j.json:1: is nested more than 50 levels deep"),
        ("a = " + "[" * 60 + "]" * 60, "j.toml", "j.toml: is nested more than 50 levels deep"),
        ("a = " + "[" * 5000, "j.toml", "j.toml: is nested more than 50 levels deep"),
        ('{"a": NaN}', "j.json", "j.json: is not valid JSON: NaN is not a number"),
        ('{"a":\n 1,}', "j.json", "j.json:2: is not valid JSON: Expecting property name"),
        ('{"a": %s}' % ("1" * 5000), "j.json", "j.json: is not valid JSON: it has a number of"),
        ('{"a": -%s}' % ("1" * 21), "j.json", "j.json: is not valid JSON: it has a number of"),
        (f"a = {'1' * 5000}", "j.toml", "j.toml: is not valid TOML: ... a number of more"),
        (f"a = [0x{'f' * 5000}]", "j.toml", "j.toml: is not valid TOML: ... a number of more"),
        ("a = 1\nb = x\n", "j.toml", "j.toml:2: is not valid TOML: Invalid value"),
        ('a = "', "j.toml", "j.toml: is not valid TOML: Unterminated string"),
        ("", "j.yaml", "j.yaml: is empty: ... jobs, cmd, name"),
        ("# nothing", "j.yaml", "j.yaml: is empty"),
        ("just words", "j.yaml", "j.yaml: must contain keys with values"),
        ("[]", "j.json", "j.json: must contain keys with values"),
        ("x" * (MAX_BYTES + 1), "j.yaml", "j.yaml: is longer than 1,048,576 bytes"),
        (b"a: 1\nb: \xff", "j.yaml", "j.yaml:2: must be UTF-8, got the byte 0xff"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_one_line_with_file_and_line(text, name, said):
    with pytest.raises(JobFileError) as caught:
        read(text if isinstance(text, bytes) else text.encode(), name)
    assert begins(str(caught.value), said)
    assert isinstance(caught.value, SpecError) and caught.value.exit_code == 2


def test_an_error_names_the_nearest_line_there_is():
    tree = read(YAML.encode(), "job.yaml")
    assert str(tree.locate(("jobs", "worker", "mem"), "is odd")) == (
        "job.yaml:7: jobs.worker.mem is odd"
    )
    assert str(tree.locate(("jobs", "worker", "cpus"), "is missing")) == (
        "job.yaml:5: jobs.worker.cpus is missing"
    )
    assert str(tree.locate(("volumes", 0), "is odd")) == "job.yaml:9: volumes[0] is odd"


def test_a_text_of_several_lines_is_no_key_of_toml():
    tree = read(b'cmd = """\nname = 5\n"""\nname = "x"\n', "a.toml")
    assert tree.lines["cmd",] == 1  # and not more: the second name only looks like one


def test_a_mark_of_the_byte_order_is_no_part_of_the_text():
    assert read(b"\xef\xbb\xbf" + YAML.encode(), "a.yaml").value == DOCUMENT


def test_json_may_hold_whatever_json_holds():
    value = {"a b": ["\u00e9", '"', "\\", "]", {"{": "}"}], "n": [1, -2.5e3, None, True, []]}
    tree = read(json.dumps(value, indent=1).encode(), "a.json")
    assert tree.value == value
    assert tree.lines["a b", 4, "{"] == 8 and tree.lines["n", 3] == 15


def test_a_key_is_written_as_people_do():
    assert dotted(("jobs", "worker", "args", 3)) == "jobs.worker.args[3]"
    assert dotted(("a\n", "b\x1b")) == r"'a\n'.'b\x1b'"
    assert len(dotted(("x" * 500,))) < 100
