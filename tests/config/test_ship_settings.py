"""What is to be sent to the tasks, as it may be said."""

from __future__ import annotations

import pytest

from tests.builders import workers
from tests.sentences import names
from tfmesos.config.ship_settings import Ship, parse_ship_file, parse_ship_files
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config


@pytest.mark.parametrize(
    "text, expected",
    [
        ("a.txt", ("a.txt", "a.txt")),
        ("../conf/a.txt", ("../conf/a.txt", "a.txt")),
        ("a.txt:b.txt", ("a.txt", "b.txt")),
        ("/x/a.txt:conf/b.txt", ("/x/a.txt", "conf/b.txt")),
        ("a:b:c", ("a:b", "c")),
    ],
)
def test_a_file_has_its_own_name_or_another(text, expected):
    assert parse_ship_file(text) == expected


@pytest.mark.parametrize(
    "text", ["", ":", "a:", ":b", "a:/b", "a:../b", "a:b/../c", "a:.", "a/", 7]
)
def test_a_name_is_a_path_in_the_directory_of_the_task(text):
    with pytest.raises(SpecError, match=r"^ship_files must be LOCAL or LOCAL:NAME"):
        parse_ship_file(text)


@pytest.mark.parametrize("given", ["a.txt", 7])
def test_files_are_a_list(given):
    with pytest.raises(SpecError, match=r"^ship_files must be .*list.* LOCAL\[:NAME\]"):
        parse_ship_files(given)


def test_two_files_have_two_names():
    with pytest.raises(SpecError, match=r"^ship_files gives two files the name 'a'"):
        parse_ship_files(["x/a", "y/a"])


@pytest.mark.parametrize("value", [True, ".", "{}", "path"])
def test_a_directory_may_be_said_in_many_ways(tmp_path, monkeypatch, value):
    monkeypatch.chdir(tmp_path)
    value = tmp_path if value == "path" else value
    value = str(tmp_path) if value == "{}" else value
    config = make_config(workers(1), ship=value)
    assert config.ship == Ship(str(tmp_path), (), 200 * 1024 * 1024)
    assert (config.cwd, config.cwd_is_given) == (None, False)


@pytest.mark.parametrize("value", [None, False])
def test_without_it_nothing_is_shipped(value):
    assert make_config(workers(1), ship=value).ship is None


@pytest.mark.parametrize("limit, size", [("1G", 2**30), (1, 2**20), (0.5, 2**19), ("2.5K", 2560)])
def test_a_limit_has_units(tmp_path, limit, size):
    assert make_config(workers(1), ship=tmp_path, ship_limit=limit).ship.limit == size


@pytest.mark.parametrize("value", [7, "", []])
def test_what_names_no_directory_is_refused(value):
    with pytest.raises(SpecError, match=r"^ship must name a directory, .*, got"):
        make_config(workers(1), ship=value)


def test_a_relative_directory_of_the_command_is_in_what_is_shipped(tmp_path):
    assert make_config(workers(1), ship=tmp_path, cwd="src").cwd == "src"
    with pytest.raises(SpecError, match=r"^cwd must be an absolute path, got 'src'"):
        make_config(workers(1), cwd="src")


def test_single_files_cannot_come_to_a_local_chief(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SpecError, match=r"^ship_files .* local chief"):
        make_config(workers(1), ship_files=[str(tmp_path / "file")], local_chief=True)


@pytest.mark.parametrize("field", ["ship", "ship_files"])
def test_an_address_with_a_password_is_refused_without_showing_it(field):
    address = "https://user:pa55word@127.0.0.1:1/x.zip"
    with pytest.raises(SpecError) as caught:
        make_config(workers(1), **{field: address if field == "ship" else [f"{address}:a"]})
    said = str(caught.value)
    assert names(said, f"{field} ", "user or password", "https://***@127.0.0.1:1/x.zip")


def test_an_address_may_have_an_at_sign_in_its_path():
    address = "https://127.0.0.1:1/train@1.2.zip"
    assert make_config(workers(1), ship=address).ship.address == address


def test_a_directory_is_no_single_file(tmp_path):
    with pytest.raises(SpecError, match=r"^ship_files '.*' is a directory: .*ship"):
        make_config(workers(1), ship_files=[str(tmp_path)])
