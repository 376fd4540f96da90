from __future__ import annotations

import asyncio
import ipaddress
import json
import sys
from pathlib import Path

import pytest

from tfmesos.config.secret import Secret
from tfmesos.engines.mesos.api.masters import parse
from tfmesos.engines.mesos.api.zookeeper import ZooKeeperMasters, by_precedence
from tfmesos.engines.own_address import UnknownHost, local_address_towards
from tfmesos.errors import MasterError, SpecError

TRANSCRIPTS = Path(__file__).parents[3] / "transcripts"


def candidates(master: str) -> list[str]:
    return asyncio.run(parse(master).candidates())


@pytest.mark.parametrize(
    "master, expected",
    [
        ("mesos-1", ["http://mesos-1:5050"]),
        ("10.0.0.1:15050", ["http://10.0.0.1:15050"]),
        ("http://mesos-1:5050", ["http://mesos-1:5050"]),
        ("https://mesos-1/", ["https://mesos-1:5050"]),
        ("[::1]", ["http://[::1]:5050"]),
        ("https://[fe80::1]:5051", ["https://[fe80::1]:5051"]),
        (" a , b:1,https://c ", ["http://a:5050", "http://b:1", "https://c:5050"]),
    ],
)
def test_masters_are_tried_in_the_order_they_were_given(master, expected):
    assert candidates(master) == expected


def test_with_tls_it_is_for_masters_whose_scheme_is_not_written():
    masters = parse("a,http://b,https://c:1", tls=True)
    assert asyncio.run(masters.candidates()) == ["https://a:5050", "http://b:5050", "https://c:1"]
    assert parse("zk://a/mesos", tls=True).scheme == "https"
    assert parse("zk://a/mesos").scheme == "http"


@pytest.mark.parametrize(
    "master, expected",
    [
        ("zk://a/mesos", ZooKeeperMasters(("a:2181",), "/mesos")),
        ("zoo://a:1,b/x/y/", ZooKeeperMasters(("a:1", "b:2181"), "/x/y")),
        ("zk://me:p@ss@[::1]:9/m", ZooKeeperMasters(("[::1]:9",), "/m", Secret("me:p@ss"))),
    ],
)
def test_zookeeper_addresses_are_understood(master, expected):
    assert parse(master) == expected


@pytest.mark.parametrize(
    "master, problem",
    [
        ("", "a host name is missing"),
        ("a,,b", "a host name is missing"),
        (":5050", "a host name is missing"),
        ("a:port", "'port' is not a port"),
        ("a:0", "'0' is not a port"),
        ("a:65536", "'65536' is not a port"),
        ("a:", "'' is not a port"),
        ("a b", "'a b' is not a host name"),
        ("a/path", "'a/path' is not a host name"),
        ("a..b", "'a..b' is not a host name"),
        ("a" * 64, "is not a host name"),
        ("::1", "':' is not a host name"),
        ("[::1", "'[:' is not a host name"),
        ("[nonsense]:5050", "'[nonsense]' is not a host name"),
        ("ftp://a", "unknown scheme 'ftp'"),
        ("zk://a", "needs the path"),
        ("zk://a/", "needs the path"),
        ("zk:///mesos", "a host name is missing"),
    ],
)
def test_a_senseless_master_is_refused_with_the_value_and_what_is_accepted(master, problem):
    with pytest.raises(SpecError) as caught:
        parse(master)
    assert (caught.value.job, caught.value.field) == (None, "master")
    assert repr(master) in str(caught.value)
    assert problem in str(caught.value)
    assert "zk://HOST:PORT,HOST:PORT/PATH" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "master",
    ["http://me:hush@a:5050", "zk://me:hush@a", "b,me:hush@a", "zk://hush@a/m", "zk://me:hush/@a"],
)
def test_a_password_is_never_repeated_in_a_complaint(master):
    with pytest.raises(SpecError) as caught:
        parse(master)
    assert "hush" not in str(caught.value)


def test_a_zookeeper_password_does_not_show():
    masters = parse("zk://me:hush@a/mesos")
    assert "hush" not in f"{masters} {masters!r}"


def recorded_znodes() -> list[dict[str, bytes]]:
    lines = (TRANSCRIPTS / "13-ha-zookeeper.jsonl").read_text().splitlines()
    notes = [json.loads(line).get("znodes") for line in lines]
    return [
        {
            znode["path"].removeprefix("/mesos/"): json.dumps(znode["data"]).encode()
            for znode in znodes
        }
        for znodes in notes
        if znodes
    ]


def test_the_znode_with_the_lowest_number_leads_and_the_others_follow():
    ports = [[url.rpartition(":")[2] for url in by_precedence(it)] for it in recorded_znodes()]
    assert ports == [["5050", "5060", "5070"]] * 2 + [["5060", "5070"], ["5070"]]


def test_sequence_numbers_are_compared_as_numbers():
    def info(port):
        return json.dumps({"address": {"ip": "10.0.0.1", "port": port}}).encode()

    znodes = {"json.info_10000000000": info(2), "json.info_9999999999": info(1)}
    assert by_precedence(znodes) == ["http://10.0.0.1:1", "http://10.0.0.1:2"]


@pytest.mark.parametrize(
    "address, url",
    [
        ({"ip": "10.0.0.1", "hostname": "m", "port": 5050}, "http://10.0.0.1:5050"),
        ({"hostname": "m", "port": 5050}, "http://m:5050"),
        ({"ip": "::1", "port": 5050}, "http://[::1]:5050"),
    ],
)
def test_a_master_is_addressed_by_ip_if_it_tells_one(address, url):
    content = json.dumps({"address": address}).encode()
    assert by_precedence({"json.info_0000000000": content}) == [url]


@pytest.mark.parametrize(
    "address, urls",
    [
        (
            {"ip": "10.0.0.1", "hostname": "m", "port": 5050},
            ["https://m:5050", "https://10.0.0.1:5050"],
        ),
        ({"ip": "10.0.0.1", "hostname": "10.0.0.1", "port": 1}, ["https://10.0.0.1:1"]),
        ({"hostname": "m", "port": 5050}, ["https://m:5050"]),
        ({"ip": "::1", "hostname": "", "port": 5050}, ["https://[::1]:5050"]),
    ],
)
def test_with_tls_a_master_is_addressed_by_the_name_that_certificates_have(address, urls):
    content = json.dumps({"address": address}).encode()
    assert by_precedence({"json.info_0000000000": content}, "https") == urls


@pytest.mark.parametrize(
    "znodes",
    [
        {},
        {"log_replicas": b"", "info_0000000001": b"protobuf"},
        {f"json.info_{'1' * 5000}": b"{}"},
    ],
)
def test_without_a_registered_master_none_leads(znodes):
    with pytest.raises(MasterError, match="no master is registered"):
        by_precedence(znodes)


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"\x0a\xff", b"{}", b"[]", b'{"address": {}}'),
        b'{"address": {"ip": "a..b", "port": 1}}',
        b'{"address": {"ip": "10.0.0.1", "port": 1e999}}',
        b'{"address": {"ip": ["10.0.0.1"], "port": 1}}',
        b"[" * 100_000,
    ],
)
def test_a_znode_that_tells_no_address_is_named(content):
    with pytest.raises(MasterError, match=r"json\.info_0000000007"):
        by_precedence({"json.info_0000000007": content})


def test_an_unreachable_zookeeper_is_reported_with_its_hosts():
    masters = ZooKeeperMasters(("127.0.0.1:1", "127.0.0.1:2"), "/mesos", timeout=0.2)
    with pytest.raises(MasterError, match=r"ZooKeeper at 127\.0\.0\.1:1,127\.0\.0\.1:2: "):
        asyncio.run(masters.candidates())


def test_a_zookeeper_whose_name_does_not_exist_is_told_from_one_that_is_away(unknown):
    for master in (f"zk://{unknown}/mesos", f"zk://{unknown}:1,{unknown}:2/mesos"):
        with pytest.raises(UnknownHost, match=r"zk://no-such-host.*: Name or service not known"):
            candidates(master)
    masters = ZooKeeperMasters((f"{unknown}:1", "127.0.0.1:1"), "/mesos", timeout=0.2)
    with pytest.raises(MasterError) as caught:
        asyncio.run(masters.candidates())
    assert not isinstance(caught.value, UnknownHost)


def test_without_kazoo_the_user_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "kazoo.client", None)
    with pytest.raises(SpecError, match=r"needs kazoo: pip install kazoo"):
        candidates("zk://127.0.0.1/mesos")


@pytest.mark.parametrize("target", ["127.0.0.1", "http://127.0.0.1:5050", "127.0.0.1:5050"])
def test_the_way_to_a_loopback_master_starts_on_the_loopback(target):
    assert ipaddress.ip_address(local_address_towards(target, 5050)).is_loopback


def test_a_host_that_cannot_be_reached_has_no_local_address():
    with pytest.raises(MasterError, match=r"cannot find 255\.255\.255\.255: "):
        local_address_towards("255.255.255.255", 5050)


@pytest.mark.parametrize("master", ["kubernetes://", "k8s:/", "local://", "slurmm://"])
@pytest.mark.parametrize("way", ["local", "k8s://CONTEXT/NAMESPACE", "slurm://PARTITION"])
def test_a_wrong_master_is_answered_with_the_ways_to_name_other_engines(master, way):
    with pytest.raises(SpecError, match=f"give .*{way}"):
        parse(master)


def test_a_mistyped_scheme_is_answered_with_the_one_that_was_meant():
    with pytest.raises(SpecError, match=r"unknown scheme 'slrum': did you mean slurm://\?"):
        parse("slrum://gpu")


@pytest.mark.parametrize("master", ["slurm", " k8s"])
def test_the_bare_name_of_another_engine_is_answered_with_its_scheme(master):
    with pytest.raises(SpecError, match=rf"write {master.strip()}://, or {master.strip()}:5050"):
        parse(master)
    assert candidates(f"{master}:5050") == [f"http://{master.strip()}:5050"]
