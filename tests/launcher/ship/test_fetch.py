"""Code from an address: fetched, checked and unpacked, or one line that names the address."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.ports import free_port
from tests.sentences import names
from tests.web import web_server
from tfmesos.errors import CannotRead
from tfmesos.launcher.ship import fetch


def fetch_code(address, directory):
    with fetch.fetch(address) as file:
        fetch.unpack_code(address, file, directory)


def zipped(**files):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, text in files.items():
            file.writestr(f"demo-master/{name}.py", text)
    return content.getvalue()


def problem(address, directory):
    with pytest.raises(CannotRead) as caught:
        fetch_code(address, str(directory))
    assert caught.value.exit_code == 66
    assert list(directory.glob("*.py")) == []
    return str(caught.value)


@pytest.fixture
def out(tmp_path):
    (tmp_path / "out").mkdir()
    return tmp_path / "out"


def test_a_python_file_is_kept_under_its_name(out):
    with web_server({"/jobs/train.py?raw=1": b"x = 1\n"}) as url:
        fetch_code(f"{url}/jobs/train.py?raw=1", str(out))
    assert (out / "train.py").read_text() == "x = 1\n"


def test_an_archive_is_unpacked_whatever_its_name(out):
    found = {"/latest": (302, {"Location": "/master.zip"}), "/master.zip": zipped(train="x = 2\n")}
    with web_server(found) as url:
        fetch_code(f"{url}/latest", str(out))
    assert (out / "demo-master" / "train.py").read_text() == "x = 2\n"


@pytest.mark.parametrize("form", ["{}", "file://{}"])
def test_a_path_of_this_machine_is_as_good(form, out, tmp_path):
    (tmp_path / "my job.zip").write_bytes(zipped(train="x = 3\n"))
    address = form.format(tmp_path / "my job.zip")
    fetch_code(address.replace(" ", "%20") if "://" in address else address, str(out))
    assert (out / "demo-master" / "train.py").read_text() == "x = 3\n"


def test_what_the_server_refuses_is_said_with_its_own_words(out):
    with web_server({}) as url:
        said = problem(f"{url}/none.py", out)
    assert names(said, f"{url}/none.py cannot be fetched", "404 Not Found")


def test_a_server_that_is_not_there_is_said(out):
    url = f"http://127.0.0.1:{free_port()}/train.py"
    assert problem(url, out) == f"{url} cannot be fetched: Connection refused"


def test_a_server_cannot_send_us_to_a_file_of_this_machine(out):
    with web_server({"/x.py": (302, {"Location": "file:///etc/passwd"})}) as url:
        said = problem(f"{url}/x.py", out)
    assert said.endswith("Redirection to url 'file:///etc/passwd' is not allowed")


@pytest.mark.parametrize(
    "path, content, words",
    [
        ("/train.py", b"print 1\n", "is not Python 3: Missing parentheses in call to 'print'."),
        ("/train.py", b"<html>please log in</html>", "is not Python 3: invalid syntax"),
        ("/train.py", b"a\0b", "is not Python 3: source code"),
        ("/train", b"x = 1", "is neither a Python file"),
        ("/train.zip", b"PK\x03\x04" + bytes(99), "cannot be unpacked: File is not a zip file"),
    ],
)
def test_what_is_no_code_is_refused(path, content, words, out):
    with web_server({path: content}) as url:
        assert problem(url + path, out).startswith(f"{url}{path} {words}")


def test_what_is_too_large_is_refused(out, monkeypatch):
    monkeypatch.setattr(fetch, "MAX_BYTES", 2**20)
    with web_server({"/x.py": b"#" * 2**21}) as url:
        assert problem(f"{url}/x.py", out) == f"{url}/x.py is larger than 1 MiB"


def test_what_takes_too_long_is_given_up(out, monkeypatch):
    monkeypatch.setattr(fetch, "WHOLE_TIMEOUT", 0)
    with web_server({"/x.py": b"#"}) as url:
        said = problem(f"{url}/x.py", out)
    assert names(said, f"{url}/x.py cannot be fetched", "more than 0 s")


@pytest.mark.parametrize(
    "address, words",
    [
        ("ftp://h/x.py", "http, https or file, "),
        ("s3://bucket/x.py", "http, https or file, "),
        ("http://me:hush@h/x.py", "user or password"),
        ("http://[h/x.py", "Invalid IPv6 URL"),
    ],
)
def test_an_address_that_cannot_be_used_is_said_and_no_password_shown(address, words, out):
    said = problem(address, out)
    assert words in said and "hush" not in said


@pytest.mark.parametrize("missing", ["nothing.py", "/etc", "file:///nothing.py"])
def test_a_path_that_cannot_be_read_is_said(missing, out):
    said = problem(missing, out)
    assert said.startswith(f"{missing} cannot be fetched: ") and "Errno" not in said
