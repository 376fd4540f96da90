"""Secrets and variables as they are read: what is wrong is one line that shows none of them."""

from __future__ import annotations

import base64
import os

import pytest

from tests.builders import workers
from tests.sentences import assert_sentences, begins, names
from tfmesos.config.secret import without_values
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config
from tfmesos.inputs.secret_values import LARGEST, LONGEST

GONE = "No such file or directory"
HUSH = "hush-59f0c4d1e7"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A directory with a secret that only its owner can read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSH", HUSH)
    write("secret", f"{HUSH}\n".encode())
    return tmp_path


def write(name, content, mode=0o600):
    with open(os.open(name, os.O_CREAT | os.O_WRONLY, mode), "wb") as file:
        file.write(content)
    os.chmod(name, mode)


def secrets_of(**settings):
    return make_config(workers(1), **settings).secrets


def problem_of(**settings):
    with pytest.raises(SpecError) as caught:
        make_config(workers(1), **settings)
    assert HUSH not in str(caught.value) and "\n" not in str(caught.value)
    return str(caught.value), caught.value.exit_code


def test_a_file_is_brought_byte_for_byte(place):
    write("keytab", b"\x05\x02\0\xff\n")
    told = secrets_of(secrets={"a.keytab": place / "keytab", "token": "secret"}).reveal()
    contents = {name: base64.b64decode(text) for name, text in told["files"].items()}
    assert contents == {"a.keytab": b"\x05\x02\0\xff\n", "token": f"{HUSH}\n".encode()}
    assert (told["env"], told["paths"]) == ({}, {})


def test_a_variable_is_brought_as_it_is_and_a_file_as_a_variable_without_its_line_end(place):
    told = secrets_of(secrets={"token": "env:HUSH"}, secret_env={"A": "secret", "B": "env:HUSH"})
    assert base64.b64decode(told.reveal()["files"]["token"]) == HUSH.encode()
    assert told.reveal()["env"] == {"A": HUSH, "B": HUSH}


def test_the_key_of_a_service_account_is_a_file_to_which_a_variable_leads(place):
    told = secrets_of(gcs_key=place / "secret").reveal()
    assert list(told["files"]) == ["gcs-key.json"]
    assert told["paths"] == {"GOOGLE_APPLICATION_CREDENTIALS": "gcs-key.json"}


def test_a_keytab_comes_with_a_place_for_the_ticket(place):
    write("krb5.conf", b"[libdefaults]\n", 0o644)
    given = {"keytab": "secret", "krb5_principal": "u@R", "krb5_conf": "krb5.conf"}
    config = make_config(workers(1), **given)
    told = config.secrets.reveal()
    assert sorted(told["files"]) == ["krb5.conf", "krb5.keytab"]
    assert told["paths"] == {"KRB5CCNAME": "krb5cc", "KRB5_CONFIG": "krb5.conf"}
    assert told["principal"] == "u@R"
    assert config.warnings == (), "everybody may read a configuration"


def test_a_config_with_secrets_shows_none_of_them(place):
    config = make_config(
        workers(1), secrets={"token": "secret"}, secret_env={"X": "env:HUSH"}, env_file=None
    )
    shown = repr(config)
    assert "(a secret)" in shown and "token" in shown
    assert HUSH not in shown.replace(repr(config.inherited_env), "")
    assert base64.b64encode(f"{HUSH}\n".encode()).decode() not in shown


def test_a_variable_that_holds_a_secret_is_not_inherited_besides(place):
    assert make_config(workers(1)).inherited_env["HUSH"] == HUSH
    config = make_config(workers(1), secret_env={"X": "env:HUSH"})
    assert "HUSH" not in config.inherited_env and "PATH" in config.inherited_env


NO_VALUE = "... NAME=FILE or NAME=env:VARIABLE"


WRONG = [
    ({"secrets": {"a": HUSH}}, f"secrets a ... a file ... not exist: {NO_VALUE}", 66),
    ({"secrets": {"a": "x\0y"}}, f"secrets a ... a file ... not exist: {NO_VALUE}", 66),
    ({"secrets": {"a": "/"}}, "secrets a cannot be read: /: Is a directory", 66),
    (
        {"secrets": {"a": "secret/x"}},
        "secrets a cannot be read: secret/x: Not a directory",
        66,
    ),
    ({"gcs_key": "none"}, "gcs_key ... a file ... not exist: none", 66),
    ({"secrets": {"a": ""}}, f"secrets a needs a source: {NO_VALUE}", 2),
    ({"secrets": {"a": 5}}, f"secrets a needs a source: {NO_VALUE}", 2),
    ({"secrets": {"a": "/dev/null"}}, "secrets a is empty", 2),
    ({"secrets": {"a/b": "secret"}}, "secrets ... name of a file ... =, got 'a/b'", 2),
    ({"secrets": {"..": "secret"}}, "secrets ... name of a file ... =, got '..'", 2),
    ({"secrets": {"": "secret"}}, "secrets ... name of a file ... =, got ''", 2),
    ({"secrets": {"-a": "secret"}}, "secrets ... name of a file ... =, got '-a'", 2),
    (
        {"secret_env": {"1A": "secret"}},
        "secret_env ... name of a variable ... =, got '1A'",
        2,
    ),
    (
        {"secret_env": {"A": "env:NO_SUCH"}},
        "secret_env A ... 'NO_SUCH', ... not set",
        2,
    ),
    (
        {"secret_env": {"A": "zero"}},
        "secret_env A ... zero byte, ... (secrets)",
        2,
    ),
    (
        {"secret_env": {"A": "secret"}, "env": {"A": "1"}},
        "secret_env and env ... A",
        2,
    ),
    (
        {"secrets": {"gcs-key.json": "secret"}, "gcs_key": "secret"},
        "secrets ... 'gcs-key.json': ... reserved",
        2,
    ),
    ({"secrets": {"a": "long"}}, f"secrets a is longer than {LONGEST:,} bytes", 2),
    (
        {"secrets": {f"a{i}": "longest" for i in range(17)}},
        f"secrets ... {17 * LONGEST:,} bytes ... {LARGEST:,}",
        2,
    ),
    ({"secrets": ["a=secret"]}, "secrets must be a dict, got ['a=secret']", 2),
    ({"keytab": "secret"}, "keytab needs a principal, ... user@REALM", 2),
    ({"krb5_principal": "u@R"}, "krb5_principal needs a keytab, too", 2),
    ({"krb5_conf": "secret"}, "krb5_conf needs a keytab, too", 2),
    (
        {"krb5_principal": "-u", "keytab": "secret"},
        "krb5_principal ... user@REALM, got '-u'",
        2,
    ),
    ({"secrets": {"a": "fifo"}}, "secrets a cannot be read: fifo: not a regular file", 66),
    (
        {"secret_file": "fifo", "principal": "me"},
        "secret_file cannot be read: fifo: not a regular file",
        66,
    ),
    ({"env_file": "fifo"}, "env_file cannot be read: fifo: not a regular file", 66),
    (
        {"secret_file": "none", "principal": "me"},
        f"secret_file cannot be read: none: {GONE}",
        66,
    ),
    ({"env_file": "none"}, "env_file cannot be read: none: No such file or directory", 66),
    ({"env_file": "secret"}, "env_file ... KEY=VALUE ... secret:1", 2),
    ({"env_file": "zero"}, "env_file ... text ... 1,048,576 bytes: zero", 2),
]


@pytest.mark.parametrize("settings, problem, code", WRONG)
def test_what_is_wrong_is_one_line_without_a_secret(place, settings, problem, code):
    write_wrong_files()
    said, found = problem_of(**settings)
    assert begins(said, problem) and found == code


def write_wrong_files():
    write("long", bytes(LONGEST + 1))
    write("longest", bytes(LONGEST))
    write("zero", b"a\0b")
    os.mkfifo("fifo")


def test_they_are_as_written_down(place):
    write_wrong_files()
    said = [problem_of(**settings)[0] for settings, *_ in WRONG]
    assert_sentences("secrets-sentences", said)


def test_a_secret_that_everybody_can_read_is_warned_of_and_no_other(place):
    write("open", b"x", 0o644)
    config = make_config(workers(1), secrets={"a": "open", "b": "secret", "c": "env:HUSH"})
    (warning,) = config.warnings
    assert names(warning, "open ", "secret", "everybody", "chmod 600")


def test_a_secret_may_come_from_a_pipe(place):
    reader, writer = os.pipe()
    os.write(writer, b"piped")
    os.close(writer)
    found = secrets_of(secrets={"a": f"/dev/fd/{reader}"}).reveal()
    os.close(reader)
    assert base64.b64decode(found["files"]["a"]) == b"piped"


def test_the_lines_of_a_file_are_variables_and_those_that_are_given_win(place):
    write("variables", b"# of the run\n\nA=1\n  # B=0\n B=x=y \r\nC='q'\nD=")
    config = make_config(workers(1), env_file="variables", env={"A": "2"})
    assert config.env == {"A": "2", "B": "x=y ", "C": "'q'", "D": ""}


@pytest.mark.parametrize("line", ["export A=1", "A", "=1", "1A=1", "A B=1"])
def test_a_line_that_sets_no_variable_is_told_by_its_number(place, line):
    write("wrong", f"A=1\n{line} {HUSH}\n".encode())
    said, code = problem_of(env_file="wrong")
    assert begins(said, "env_file ... KEY=VALUE ... wrong:2") and code == 2


@pytest.mark.parametrize(
    "host, settings, asked_by",
    [
        ("127.0.0.1", {"secrets": {"a": "secret"}}, ""),
        ("localhost", {"secrets": {"a": "secret"}}, ""),
        ("::1", {"secrets": {"a": "secret"}}, ""),
        ("127.example.org", {"secrets": {"a": "secret"}}, "secrets"),
        ("localhost.example.org", {"secrets": {"a": "secret"}}, "secrets"),
        ("10.0.0.1", {"secrets": {"a": "secret"}}, "secrets"),
        ("10.0.0.1", {"secret_env": {"A": "secret"}}, "secret_env"),
        ("10.0.0.1", {"gcs_key": "secret"}, "gcs_key"),
        ("10.0.0.1", {"keytab": "secret", "krb5_principal": "u@R"}, "keytab"),
        ("10.0.0.1", {}, ""),
        ("127.0.0.1", {"link_tls": True}, "link_tls"),
    ],
)
def test_a_link_that_is_not_loopback_uses_tls_if_there_are_secrets(place, host, settings, asked_by):
    assert make_config(workers(1), **settings).asks_for_link_tls(host) == asked_by


@pytest.mark.parametrize(
    "argument, shown",
    [
        (f"WANDB_API_KEY={HUSH}", "WANDB_API_KEY=***"),
        (f"--env=WANDB_API_KEY={HUSH}", "--env=WANDB_API_KEY=***"),
        (f"A={HUSH}\n{HUSH}", "A=***"),
        ("A=", "A="),
        ("--lr=0.1", "--lr=0.1"),
        ("--lr=1e-3", "--lr=1e-3"),
        ("train.py", "train.py"),
        ("x == y", "x == y"),
    ],
)
def test_the_name_of_a_framework_shows_no_value_of_a_variable(argument, shown):
    assert without_values(argument) == shown
