"""The documents tell the truth: every flag is there, and they can be read."""

import argparse
import importlib.util
import re
from pathlib import Path

import docutils.core
import pytest

from tfmesos.cli.arguments import build_parser

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "tfmesos"
FOLDERS = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
README = (ROOT / "README.rst").read_text()
PLAIN = [  # without the directives that only Sphinx knows
    *("README.rst", "CHANGELOG.rst", "CONTRIBUTING.rst", "SECURITY.rst"),
    *("examples/README.rst", "bench/README.rst"),
]
PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.rst"))
TOP_FOLDERS = ("bench", "docker", "docs", "examples", "misc", "tests", "tfmesos")
MAX_LINES = 150  # of the README
MAX_COLUMNS = 100


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "docs" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_flag_is_in_the_reference(reference):
    entries = [line for line in reference.flags() if line.startswith(".. option::")]
    told = {flag for entry in entries for flag in re.findall(r"(?<=[ ,])--?[\w-]+", entry)}
    assert told == {flag for action in build_parser()._actions for flag in action.option_strings}


def test_the_reference_has_the_variables_that_tfrun_reads(reference):
    told = set(re.findall("^``(.*)``$", "\n".join(reference.variables()), re.M))
    assert told == {
        "DOCKER_IMAGE",
        "MESOS_MASTER",
        "MESOS_PRINCIPAL",
        "MESOS_SECRET_FILE",
        "TFMESOS_PROFILE",
    }


def test_every_flag_that_a_document_names_exists():
    real = {flag for action in build_parser()._actions for flag in action.option_strings}
    told = {
        (page, flag)
        for page in ("README.rst", "docs/failures.rst", "docs/tutorial.rst")
        for flag in re.findall(r"(?<=``)--[a-z][a-z-]+", (ROOT / page).read_text())
    }
    assert {flag for _, flag in told} - real == {"--data"}  # of the examples
    assert len(told) > 10


def test_every_flag_has_its_help():
    for action in build_parser()._actions:
        assert action.help and action.help != argparse.SUPPRESS


@pytest.mark.parametrize("name", PLAIN)
def test_a_document_is_sound_restructuredtext(name):
    settings = {"report_level": 2, "halt_level": 2, "syntax_highlight": "none"}
    docutils.core.publish_string(
        (ROOT / name).read_text(), writer="null", settings_overrides=settings
    )


@pytest.mark.parametrize("name", [*PLAIN, *PAGES])
def test_the_lines_of_a_document_fit_on_a_screen(name):
    lines = (ROOT / name).read_text().splitlines()
    assert [line for line in lines if len(line) > MAX_COLUMNS] == []


def test_the_readme_is_short():
    assert len(README.splitlines()) <= MAX_LINES


@pytest.mark.parametrize("name", [*PLAIN, *PAGES])
def test_a_file_that_a_document_names_is_there(name):
    text = (ROOT / name).read_text()
    for path in re.findall(rf"``((?:{'|'.join(TOP_FOLDERS)})/[\w./-]+)``", text):
        assert (ROOT / path).exists(), path
    for target in re.findall(r"<([\w./-]+\.rst)>`_", text):
        assert (ROOT / name).parent.joinpath(target).is_file(), target


def test_the_map_has_one_row_a_folder():
    text = (ROOT / "CONTRIBUTING.rst").read_text()
    the_map = text.split(".. map begins")[1].split(".. map ends")[0]
    assert sorted(re.findall(r"^``(\w+)/``", the_map, re.M)) == sorted(FOLDERS)


@pytest.mark.parametrize("name", [*PLAIN, *PAGES, "docs/run.svg"])
def test_a_module_that_a_document_names_exists(name):
    named = re.findall(rf"[>`]((?:{'|'.join(FOLDERS)})(?:/\w+)+)[<`]", (ROOT / name).read_text())
    assert [it for it in named if not any(map(Path.is_file, _files_of(it)))] == []
    assert named or name not in ("docs/design.rst", "docs/run.svg")


def _files_of(name):
    """Of a module, or of a folder."""
    return PACKAGE / f"{name}.py", PACKAGE / name / "__init__.py"
