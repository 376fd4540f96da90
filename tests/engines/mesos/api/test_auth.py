import base64
import os

import pytest

from tfmesos.config.launch_config import Access
from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api.auth import authorization, tls_context
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config


def test_a_principal_and_its_secret_become_basic_authentication():
    header = authorization(("me", Secret("se:cret")))["Authorization"]
    assert base64.b64decode(header.removeprefix("Basic ")) == b"me:se:cret"


def test_a_token_is_sent_as_dcos_wants_it():
    assert authorization(token=Secret("abc")) == {"Authorization": "token=abc"}


def test_without_either_nothing_is_sent():
    assert authorization() == {}


def test_secrets_do_not_show():
    access = Access(principal="me", secret=Secret("hidden"))
    for shown in (repr(access), repr(Access(token=Secret("hidden"))), f"{access.secret}"):
        assert "(a secret)" in shown and "hidden" not in shown


def test_secrets_are_the_same_if_their_texts_are():
    assert Secret("a") == Secret("a") and hash(Secret("a")) == hash(Secret("a"))
    assert Secret("a") != Secret("b") and Secret("a") != "a"


def test_without_files_of_ones_own_the_machines_certificates_are_trusted():
    assert tls_context(Access()) is None


@pytest.mark.parametrize("field", ["ca_file", "cert_file"])
def test_a_certificate_that_is_none_is_named(tmp_path, field):
    file = tmp_path / "not-a-certificate"
    file.write_text("hello")
    with pytest.raises(SpecError, match=f"{field} cannot be used: {file}"):
        tls_context(Access(**{field: str(file)}))


# Files with secrets

SECRET_FILES = {
    "control character": (b"hu\x07sh", "must contain one line of text"),
    "two lines": (b"hu\nsh\n", "must contain one line of text"),
    "carriage return": (b"hu\rsh", "must contain one line of text"),
    "zero byte": (b"hu\0sh", "must contain one line of text"),
    "byte order mark": (b"\xef\xbb\xbfhush", "must contain one line of text"),
    "not UTF-8": (b"hu\xffsh", "must contain one line of text"),
    "UTF-16": ("hush".encode("utf-16"), "must contain one line of text"),
    "empty": (b"", "is empty"),
    "blank": (b" \n\n", "is empty"),
    "endless": (b"hush" * 100_000, "is longer than 65536 bytes"),
}
SECRET_FLAGS = {
    "secret_file": ["--principal", "me", "--secret-file"],
    "token_file": ["--token-file"],
}


def read_secret(monkeypatch, field, path):
    monkeypatch.delenv("MESOS_SECRET_FILE", raising=False)
    principal = "me" if field == "secret_file" else None
    access = make_config(
        [{"name": "worker", "num": 1}], principal=principal, **{field: path}
    ).access
    return access.secret if field == "secret_file" else access.token


@pytest.mark.parametrize("field", SECRET_FLAGS)
@pytest.mark.parametrize("content", [b"h\xc3\xbcsh h", b"h\xc3\xbcsh h\n", b" h\xc3\xbcsh h\r\n\n"])
def test_a_secret_is_the_text_of_its_file_without_the_blanks_around_it(
    tmp_path, monkeypatch, field, content
):
    file = tmp_path / "secret"
    file.write_bytes(content)
    assert read_secret(monkeypatch, field, str(file)) == Secret("h\u00fcsh h")


@pytest.mark.parametrize("field", SECRET_FLAGS)
@pytest.mark.parametrize("name", SECRET_FILES)
def test_a_file_that_holds_no_secret_is_named_and_its_content_is_not(
    tmp_path, monkeypatch, field, name
):
    file = tmp_path / "secret"
    content, problem = SECRET_FILES[name]
    file.write_bytes(content)
    with pytest.raises(SpecError) as caught:
        read_secret(monkeypatch, field, str(file))
    assert str(caught.value).startswith(f"{field} {problem}")
    assert str(file) in str(caught.value)
    assert "sh" not in str(caught.value).replace(str(file), "")


@pytest.mark.parametrize("field", SECRET_FLAGS)
@pytest.mark.parametrize(
    "path, problem",
    [
        ("/no/such/file", "No such file or directory"),
        ("/", "Is a directory"),
        ("/dev/null", "is empty"),
        ("/dev/zero", "not a regular file"),
        ("a\0b", "null"),
    ],
)
def test_a_secret_that_cannot_be_read_says_why(monkeypatch, field, path, problem):
    with pytest.raises(SpecError, match=problem) as caught:
        read_secret(monkeypatch, field, path)
    assert caught.value.field == field


@pytest.mark.parametrize("principal", ["m:e", "m\ne", "m\x07", os.fsdecode(b"m\xff")])
def test_a_principal_that_cannot_be_sent_is_refused(principal):
    with pytest.raises(SpecError) as caught:
        Access(principal=principal, secret=Secret("hush"))
    assert (caught.value.field, "hush" in str(caught.value)) == ("principal", False)
    assert ascii(principal) in str(caught.value)
