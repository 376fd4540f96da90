"""The documents tell the truth: every flag is there, and they can be read."""

import argparse
import importlib.util
import json
import re
from pathlib import Path

import docutils.core
import pytest

import tfmesos
from tests.builders import workers
from tfmesos.cli.arguments import build_parser
from tfmesos.cli.commands.names import NAMES, OTHER_NAMES, TAKING_FLAGS
from tfmesos.config.settings import SETTINGS
from tfmesos.inputs import secret_values
from tfmesos.inputs.resolve import config_of_call
from tfmesos.launcher.links.task_environment import task_environment
from tfmesos.node.task.secret_files import DIRECTORY
from tfmesos.node.task.workspace import SHIP_DIR, TASK_DIR
from tfmesos.shared.process import MARK
from tfmesos.shared.task_variables import environment

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


@pytest.mark.parametrize("name", ["commandline.rst", "api.rst", "design.rst"])
def test_the_tables_of_the_reference_are_current_or_make_reference_renews_them(reference, name):
    text = (ROOT / "docs" / name).read_text()
    assert text == reference.page(name), f"run make reference: docs/{name} is not current"


def test_every_flag_and_command_is_in_the_reference():
    text = (ROOT / "docs" / "commandline.rst").read_text()
    flags = {flag for action in build_parser()._actions for flag in action.option_strings}
    assert {flag for flag in flags if not re.search(rf"``{flag}[ `[]", text)} == set()
    commands = {*NAMES, *OTHER_NAMES, *TAKING_FLAGS}
    assert {name for name in commands if f"``tfrun {name}``" not in text} == set()


def test_every_setting_and_public_name_is_in_the_reference():
    text = (ROOT / "docs" / "api.rst").read_text()
    assert {it.field for it in SETTINGS if f"   * - ``{it.field}``\n" not in text} == set()
    assert {name for name in tfmesos.__all__[1:] if not re.search(rf"\b{name}\b", text)} == set()
    fields = set(tfmesos.Job.__match_args__) - {"type_offset"}
    assert {name for name in fields if not re.search(rf"^(?:\S.*)?``{name}``", text, re.M)} == set()


def test_the_reference_has_the_variables_that_tfrun_reads(reference):
    told = set(re.findall("``([A-Z_]+)``$", "\n".join(reference.variables()), re.M))
    assert told == {
        "DOCKER_IMAGE",
        "MESOS_MASTER",
        "MESOS_PRINCIPAL",
        "MESOS_SECRET_FILE",
        "TFMESOS_PROFILE",
    }


def test_every_other_variable_that_tfrun_reads_is_in_its_table():
    told = _left_column("docs/commandline.rst", "They also read these:")
    folders = ("cli", "config", "engines", "inputs", "launcher", "runs")
    code = "\n".join(path.read_text() for it in folders for path in (PACKAGE / it).rglob("*.py"))
    reading = r'environ(?:\.get\(|\[)"([A-Z_]+)"|_variable\(environ, "([A-Z_]+)"|"([A-Z_]+)" in os'
    found = {name for names in re.findall(reading, code) for name in names if name}
    assert {"KUBECONFIG", "NO_PROXY", "NO_COLOR"} <= found
    of_settings = {it.variable for it in SETTINGS if it.variable}
    assert found - told - of_settings == {"PATH"}
    assert told - found == {"BROWSER", "DISPLAY", "WAYLAND_DISPLAY"}  # which are read in a loop


def test_every_variable_that_a_task_finds_is_in_its_table():
    told = _left_column("docs/commandline.rst", "A task finds these:")
    cluster = {"worker": ["here:1", "there:2"], "ps": ["here:3"]}
    config = config_of_call(workers(2), {"hang_timeout": 60, "image": "any"})
    found = {
        *environment(cluster, "worker", 0),
        *task_environment(config, config.tasks[0]),
        *(TASK_DIR, SHIP_DIR, DIRECTORY, MARK),
        *(variable for _, variable, _ in secret_values._PATHS),
    }
    keras = "KERAS_DISTRIBUTION_"
    assert found - told == {name for name in found if name.startswith(keras)}
    assert f"{keras}..." in told


def test_every_exit_code_in_the_code_is_in_its_table():
    text = (ROOT / "docs" / "commandline.rst").read_text().partition("\nExit codes\n")[2]
    told = set(map(int, re.findall(r"\b\d+\b", text.partition("The runner on the node")[0])))
    code = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    of_classes = re.findall(r"^ +exit_code = (\d+)", code, re.M)
    constants = re.findall(r"EX_\w+ = (\d+)|= (\d+)  # EX_", code)
    returned = re.findall(r"return (12[67])\b", code)
    found = {int(it) for it in (*of_classes, *(a or b for a, b in constants), *returned)}
    assert {66, 69, 70, 71, 74, 75, 77, 124, 126} <= found
    assert found - told == set()


def test_every_key_of_a_job_is_in_the_table_of_job_files():
    schema = json.loads((ROOT / "docs" / "job.schema.json").read_text())
    keys = set(schema["properties"]["jobs"]["additionalProperties"]["properties"])
    assert keys - _left_column("docs/jobfiles.rst", "Of a job:") == set()


def _left_column(name, before):
    """What stands in the first column of the table behind this line."""
    table = (ROOT / name).read_text().partition(before)[2].split("\n\n")[1]
    width = table.index(" ")
    return {it for line in table.splitlines() for it in re.findall("``(.*?)``", line[:width])}


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


def test_the_table_of_contents_describes_every_page():
    text = (ROOT / "docs" / "index.rst").read_text().partition(".. toctree::")[0]
    told = set(re.findall(":doc:`([a-z-]+)`", text))
    assert told == {Path(name).stem for name in PAGES} - {"index"}


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
