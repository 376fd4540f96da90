"""Every command that a document shows can be typed: it is run, or tried here, or says why not.

A block behind ``.. runnable`` runs in tests/whole/test_readme.py, one behind ``.. NAME begins``
where a test reads it by this name. All other calls of tfrun are made here with ``--dry-run``,
which checks the settings and starts nothing; of commands about runs the arguments are checked.
"""

import json
import os
import re
import textwrap
import tomllib

import pytest
import yaml

from tests.documents import NAMES, ROOT, shown_commands
from tfmesos.cli.commands.names import KNOWN, parser_of, split
from tfmesos.tfrun import main

SHOWN = [command for name in NAMES for command in shown_commands(name)]
OF_TFRUN = [it for it in SHOWN if it.words[0] == "tfrun" and not it.mark.startswith("not run")]
OF_MAKE = [it for it in SHOWN if it.words[0] == "make"]
OTHERS = [it for it in SHOWN if it.words[0] not in ("tfrun", "make")]
FOREIGN = {"tf_job.yaml": "tfjob", "mycluster.json": "marathon"}
A_RUN = ["-n", "mnist", "-w", "2", "--image", "me/train", "--", "python", "train.py"]


def ids(commands):
    return [it.place for it in commands]


@pytest.fixture
def typing(tmp_path, monkeypatch, capfd):
    """Where such commands are typed: the files that they name are here, as the documents have them.

    The call returns the exit code, and what was printed.
    """
    monkeypatch.chdir(tmp_path)
    for name in ("HOME", "PWD", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("WANDB_API_KEY", "any")
    for name in ("me.keytab", "krb5.conf", ".wandb-token"):
        (tmp_path / name).write_text("any")
    (tmp_path / "tfmesos").mkdir()
    (tmp_path / "tfmesos" / "config.toml").write_text(example("docs/profiles.rst", "toml"))
    (tmp_path / "job.yaml").write_text(example("docs/jobfiles.rst", "yaml"))
    options = re.sub('"https:[^"]*"', '"train.py"', example("docs/dcos.rst", "json"))
    (tmp_path / "mnist.json").write_text(options)
    (tmp_path / "train.py").write_text("")

    def do(argv):
        has_profiles = argv[0] == "config"
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / ("." if has_profiles else "none")))
        if argv[0] in FOREIGN and not (tmp_path / argv[0]).exists():
            text = do([f"--dry-run={FOREIGN[argv[0]]}", *A_RUN])[1]
            (tmp_path / argv[0]).write_text(text)
        code = main(argv)
        out, err = capfd.readouterr()
        return code, out, err

    return do


def examples(name, language):
    block = rf"^\.\. code:: {language}\n\n((?: +.*\n|\n)+)"
    return map(textwrap.dedent, re.findall(block, (ROOT / name).read_text(), re.M))


def example(name, language):
    return next(examples(name, language))


@pytest.mark.parametrize("shown", OF_TFRUN, ids=ids(OF_TFRUN))
def test_tfrun_takes_what_a_document_shows(shown, typing):
    argv = shown.arguments
    if argv[0] in KNOWN:
        words, _ = split(argv[1:])
        parser_of(argv[0]).parse_args(words)
    else:
        code, _, err = typing(dry(argv))
        assert code == 0, err


def dry(argv):
    words, command = split([os.path.expandvars(word) for word in argv])
    words = [word for word in words if word != "--detach"]
    words = ["job.yaml" if before == "--job-file" else word for before, word in pairs(words)]
    if words[0] != "config" and not any(word.startswith("--dry-run") for word in words):
        words = [*words, "--dry-run"]
    return [*words, "--", *command] if command else words


def pairs(words):
    return zip(["", *words], words, strict=False)


@pytest.mark.parametrize("shown", OF_MAKE, ids=ids(OF_MAKE))
def test_make_knows_the_targets_that_a_document_shows(shown):
    makefile = (ROOT / "Makefile").read_text()
    assert re.search(rf"^[\w -]*\b{shown.words[1]}\b[\w -]*:", makefile, re.M)


def test_any_other_command_is_run_by_a_test_or_marked_why_not():
    assert [it.place for it in OTHERS if not it.mark] == []


def test_a_mark_that_a_test_looks_for_is_found_there():
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))
    marks = {it.mark for it in SHOWN if it.mark.endswith(" begins")}
    assert {it for it in marks if f'"{it.split()[0]}"' not in tests} == set()


LANGUAGES = {
    "json": json.loads,
    "python": lambda text: compile(text.replace("(jobs, *, ", "("), "a document", "exec"),
    "toml": tomllib.loads,
    "yaml": lambda text: list(yaml.safe_load_all(text)),
}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_example_of_a_document_can_be_read(language):
    shown = [text for name in NAMES for text in examples(name, language)]
    assert shown
    for text in shown:
        LANGUAGES[language](text)


def test_there_is_something_to_try():
    assert len(OF_TFRUN) > 60 and len(OF_MAKE) > 5 and len(OTHERS) > 10
