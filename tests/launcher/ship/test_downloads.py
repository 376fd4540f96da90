"""What is shipped from addresses: fetched, on disk while it is packed, and gone after that."""

from __future__ import annotations

import asyncio
import os

import pytest

from tests.web import dripping_server, hanging_server, web_server
from tfmesos.config.ship_settings import Ship
from tfmesos.daemon_threads import DaemonThreads
from tfmesos.errors import CannotRead
from tfmesos.launcher.ship import downloads, fetch
from tfmesos.launcher.ship.downloads import fetch_all, on_disk
from tfmesos.launcher.ship.paths import ship_of

DRIPPING = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"


def given(**settings):
    return {"ship": None, "ship_files": (), "ship_limit": 200, **settings}


def test_code_and_single_files_are_put_where_they_are_wanted(tmp_path):
    (tmp_path / "own").write_text("own")
    pages = {"/train.py": b"x = 1\n", "/conf/core-site.xml": b"<a/>"}
    with web_server(pages) as url:
        files = ((f"{url}/conf/core-site.xml", "conf/core-site.xml"), (str(tmp_path / "own"), "o"))
        ship = Ship(None, files, address=f"{url}/train.py")
        fetched = asyncio.run(fetch_all(ship))
    with on_disk(ship, fetched, str(tmp_path)) as found:
        directory, places = found.directory, dict((name, at) for at, name in found.files)
        assert os.listdir(directory) == ["train.py"]
        with open(places["conf/core-site.xml"]) as file:
            assert file.read() == "<a/>"
        assert places["o"] == str(tmp_path / "own")
    assert os.path.dirname(directory) == str(tmp_path)
    assert all(file.closed for file in fetched.values())


def test_a_directory_of_our_own_stays_beside_files_that_are_fetched(tmp_path):
    with web_server({"/x": b"x"}) as url:
        ship = Ship(str(tmp_path), ((f"{url}/x", "x"),))
        with on_disk(ship, asyncio.run(fetch_all(ship)), str(tmp_path)) as found:
            assert found.directory == str(tmp_path)


def test_the_first_address_that_gives_nothing_is_the_error():
    with web_server({}) as url:
        with pytest.raises(CannotRead, match="404"):
            asyncio.run(fetch_all(Ship(None, address=f"{url}/x.zip")))


def test_whoever_gives_up_on_a_server_does_not_wait_for_it():
    async def give_up(address):
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        work = asyncio.ensure_future(fetch_all(Ship(None, address=address)))
        await asyncio.get_running_loop().run_in_executor(None, is_asked.wait)
        work.cancel()
        await asyncio.wait({work})
        return work.cancelled()

    with hanging_server() as (url, is_asked):
        assert asyncio.run(give_up(f"{url}/x.zip"))


@pytest.mark.parametrize("answer", [DRIPPING, DRIPPING[:5]])
def test_a_download_that_drips_is_ended_by_its_limit(answer, monkeypatch):
    """In its content, or in its head already."""
    monkeypatch.setattr(fetch, "WHOLE_TIMEOUT", 0.5)
    monkeypatch.setattr(downloads, "MARGIN", 0.1)

    async def fetched(address):
        asyncio.get_running_loop().set_default_executor(DaemonThreads())
        return await fetch_all(Ship(None, address=address))

    with dripping_server(answer, every=0.05) as url:
        with pytest.raises(CannotRead, match=r"more than 0\.5 s"):
            asyncio.run(fetched(f"{url}/x.zip"))


@pytest.mark.parametrize("address", ["https://example.com/x.zip", "file:///x.tar"])
def test_a_url_is_fetched_and_no_directory(address):
    ship = ship_of(given(ship=address))
    assert (ship.directory, ship.address, ship.addresses) == (None, address, [address])


def test_a_file_of_this_machine_is_unpacked_and_a_directory_is_shipped(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.zip").touch()
    assert ship_of(given(ship="job.zip")).address == str(tmp_path / "job.zip")
    assert ship_of(given(ship=str(tmp_path))) == Ship(str(tmp_path), (), 200 * 2**20)


def test_single_files_may_have_addresses_too(tmp_path):
    (file,) = ship_of(given(ship_files=["http://h:1/a/b.xml:conf/b.xml"])).files
    assert file == ("http://h:1/a/b.xml", "conf/b.xml")
