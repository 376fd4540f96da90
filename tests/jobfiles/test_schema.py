"""The schema that editors use says what the reader takes."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from tests.config.test_settings import OTHERS
from tfmesos.jobfiles import native
from tfmesos.jobfiles.native import checked
from tfmesos.jobfiles.reading import read
from tfmesos.jobfiles.schema import JOB, schema
from tfmesos.jobfiles.translation import JobFileError

DOCS = Path(__file__).parents[2] / "docs"
FILE = DOCS / "job.schema.json"
PAGES = [*DOCS.glob("*.rst"), *DOCS.glob("jobfiles/*.rst")]


def examples():
    """All of YAML in the documentation that is a job file of ours."""
    for page in PAGES:
        for block in re.findall(r"^\.\. code:: yaml\n\n((?:    .*\n|\n)+)", page.read_text(), re.M):
            text = re.sub(r"^    ", "", block, flags=re.M)
            if re.search(r"^jobs:", text, re.M):
                yield pytest.param(text, id=page.stem)


def is_valid(document):
    return jsonschema.Draft202012Validator(schema()).is_valid(document)


def test_the_file_for_editors_is_the_schema_of_the_table():
    """To write it: make reference."""
    jsonschema.Draft202012Validator.check_schema(schema())
    assert json.loads(FILE.read_text()) == schema()


def test_the_schema_knows_every_key_and_no_other():
    aliases = native._ALIASES
    assert {aliases.get(key, key) for key in JOB} == set(native._JOB_KEYS)
    keys = {aliases.get(key, key) for key in schema()["properties"]}
    assert keys == set(native._OWN_KEYS)


@pytest.mark.parametrize("text", list(examples()))
def test_every_example_of_the_documentation_is_a_job_file(text):
    document = read(text.encode(), "example.yaml").value
    assert is_valid(document)
    assert checked(document)["jobs"]


def test_the_table_of_the_page_has_every_key_of_a_job():
    (table,) = re.findall(r"^Of a job:\n(.*?)\n\nAny other key", page_of_keys(), re.M | re.S)
    assert set(re.findall(r"``(\w+)``", re.sub(r"(?m)^(.{26}).*", r"\1", table))) == set(JOB)


def page_of_keys():
    return (DOCS / "jobfiles.rst").read_text()


def test_there_are_examples():
    assert len(list(examples())) >= 2


@pytest.mark.parametrize("field", OTHERS)
def test_a_value_of_each_setting_is_valid(field):
    value = list(OTHERS[field]) if isinstance(OTHERS[field], tuple) else OTHERS[field]
    assert is_valid({"jobs": {"worker": None}, field: value})


@pytest.mark.parametrize(
    "document",
    [
        {"jobs": {"worker": {"memm": 5}}},
        {"jobs": {"worker": 2}},
        {"jobs": 5},
        {"nam": "x", "jobs": {"worker": {}}},
        {"jobs": {"worker": {"serve": "yes"}}},
    ],
)
def test_what_the_reader_refuses_is_not_valid(document):
    with pytest.raises(JobFileError):
        checked(document)
    assert not is_valid(document)


if __name__ == "__main__":
    FILE.write_text(json.dumps(schema(), indent=2) + "\n")
