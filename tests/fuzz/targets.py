"""What is fuzzed: for each target the inputs, and what must hold for every one of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.engines.mesos.offers import amounts_of, scalar
from tests.fake_masters import transcript
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.engines.mesos import feasibility
from tfmesos.engines.mesos.api import masters, recordio
from tfmesos.engines.mesos.api.answers import event_of
from tfmesos.engines.mesos.api.client import MesosClient
from tfmesos.engines.mesos.api.json_values import NONSENSE, read_json
from tfmesos.engines.mesos.api.recordio import RecordDecoder
from tfmesos.engines.mesos.api.subscription import Subscription
from tfmesos.engines.mesos.decode import translate
from tfmesos.engines.mesos.engine import MesosEngine
from tfmesos.engines.mesos.offers import Offer
from tfmesos.engines.mesos.placement import place
from tfmesos.errors import FrameError, HandshakeError, MasterError
from tfmesos.launcher.deciders import Deciders
from tfmesos.launcher.links.authentication import LauncherHandshake
from tfmesos.launcher.links.report_fields import address, lines
from tfmesos.launcher.links.usage import usage_of
from tfmesos.launcher.screen.progress_bar import progress_bar
from tfmesos.launcher.screen.rows import Row
from tfmesos.launcher.screen.table import Table
from tfmesos.node.process.gpus import parse
from tfmesos.sanitize import columns_of, plain, tidy
from tfmesos.shared import json_reader, wire
from tfmesos.shared.handshake import RunnerHandshake

from . import channels, copies, http, inside, kubernetes, packs
from .strategies import JSON, nearly, pieces

EVENTS = [
    entry["event"]
    for name in ("01-subscribe-offers", "02-launch", "10-teardown")
    for entry in transcript(name)
    if entry["dir"] == "event"
]
OFFERS = [offer for event in EVENTS for offer in event.get("offers", {}).get("offers", [])]


class Target(NamedTuple):
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]


# RecordIO

_RECORDS = st.lists(
    st.one_of(st.binary(max_size=40), st.sampled_from([b"{}", b"1\n2"])), max_size=4
)
_STREAM = st.one_of(
    st.binary(max_size=60),
    _RECORDS.map(lambda records: b"".join(map(recordio.encode, records))),
    st.tuples(
        _RECORDS, st.sampled_from([b"-1\n", b"\n", b"99999999999\n", b"1" * 30, b"+1\nx"])
    ).map(lambda both: b"".join(map(recordio.encode, both[0])) + both[1]),
)


def check_recordio(cut: list[bytes]) -> None:
    """However it is cut, the same records come out, and then perhaps a FrameError."""
    assert _decoded(cut) == _decoded([b"".join(cut)])


def _decoded(data: list[bytes]) -> tuple[list[bytes], bool]:
    decoder, records = RecordDecoder(max_record=1000), []
    try:
        for piece in data:
            records += decoder.feed(piece)
        decoder.close()
    except FrameError:
        # What came in the same piece before the malformed record is not delivered by all cuts.
        return [], False
    return records, True


# The wire between runner and launcher

SECRET, RUN, TASK = b"s" * 32, "run-1", "worker-0"
_HANDSHAKE = RunnerHandshake(SECRET, RUN, TASK, bytes(16))
_MESSAGES = [
    _HANDSHAKE.hello(),
    {"type": "proof", "proof": "0" * 64, "received": 0},
    {"type": "challenge", "nonce": "0" * 32, "proof": "0" * 64},
    {"type": "register", "host": "10.0.0.1", "port": 5, "pid": 1, "python": "3.8.0"},
    {"type": "output", "stream": "stdout", "lines": ["a", "b"], "dropped": 0},
    {"type": "exit", "code": 0, "reason": "exited", "tail": ["x"]},
    {"type": "heartbeat", "silent": 3, "usage": {"cpu": 9.5, "memory": 7, "gpus": [[1, 2, None]]}},
]


def _framed(messages: list[Any]) -> bytes:
    bodies = [json.dumps(message).encode() for message in messages]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


_FRAMES = st.one_of(
    st.binary(max_size=80),
    st.lists(nearly(_MESSAGES) | JSON, max_size=4).map(_framed),
    st.binary(max_size=30).map(lambda rest: (1 + len(rest)).to_bytes(4, "big") + b"\1" + rest),
    st.tuples(st.integers(0, 2**32 - 1), st.binary(max_size=30)).map(
        lambda both: both[0].to_bytes(4, "big") + both[1]
    ),
)


def _secret_of(task: str, again: bool) -> bytes | None:
    return SECRET if task == TASK else None


def check_wire(cut: list[bytes]) -> None:
    """Nothing but a FrameError or a HandshakeError, and nobody without the secret gets in."""
    launcher = LauncherHandshake(
        RUN, b"n" * 16, lambda task, again: SECRET if task == TASK else None
    )
    runner = RunnerHandshake(SECRET, RUN, TASK, b"r" * 16)
    decoder = wire.FrameDecoder()
    try:
        for piece in cut:
            for message in decoder.feed(piece):
                assert isinstance(message["type"], str)
                _read_fields(message)
                for side in (launcher, runner):
                    try:
                        side.feed(message)
                    except HandshakeError:
                        pass
    except FrameError:
        pass
    assert not launcher.done and not runner.done


def _read_fields(message: wire.Message) -> None:
    readers: list[Callable[[], object]] = [
        lambda: address(message),
        lambda: lines(message, "lines"),
        lambda: wire.count(message, "code"),
        lambda: wire.field(message, "reason", str),
        lambda: usage_of(message),
    ]
    for read in readers:
        try:
            read()
        except FrameError:
            pass


# Offers


def check_offers(given: list[Any]) -> None:
    """An offer that is taken is never used for more than it holds, nor twice."""
    offers = {}
    for json_offer in given:
        try:
            offer = Offer.from_json(json_offer)
        except NONSENSE:
            continue
        offers[offer.id] = offer
    tasks = [*workers(3, cpus=0.5, mem=64).tasks, *servers(1, gpus=1).tasks]
    placement = place(tasks, list(offers.values()))
    used = [offer.id for found in placement.loads for offer in found.offers]
    assert sorted([*used, *(offer.id for offer in placement.unused)]) == sorted(offers)
    for found in placement.loads:
        offered = amounts_of(_countable(e.json for o in found.offers for e in o.entries))
        taken = amounts_of(_countable(part for seat in found.seats for part in seat.resources))
        assert all(amount <= offered[key] for key, amount in taken.items())


def _countable(resources: Any) -> list[Any]:
    return [{"role": "*", **r} for r in resources if "scalar" in r]


_OFFERS = st.lists(
    nearly(
        [
            *OFFERS,
            {"id": {"value": "o"}, "agent_id": {"value": "a"}, "resources": [scalar("cpus", 1)]},
        ]
    ),
    max_size=4,
)


# Events of a master


class CallsThatGoNowhere:
    base = "http://master:5050"

    def post(self, kind: str, payload: bytes) -> None:
        json.loads(payload)


def check_events(given: list[Any]) -> None:
    """A run lives through whatever a master says, or refuses it as nonsense."""
    lifecycle = Lifecycle([*workers(2).tasks, *servers(1).tasks], "run", 0.0)
    run = Deciders(lifecycle, MesosEngine(lambda: 0.5))
    passed_on: list[Any] = []
    client = MesosClient(masters.parse("master:5050"), {}, passed_on.append)
    subscription = Subscription(None, CallsThatGoNowhere(), 1.0, client._take)
    for value in given:
        try:
            client._take(event_of(json.dumps(value).encode()), subscription)
        except (FrameError, MasterError):
            pass
    for now, event in enumerate(passed_on):
        try:
            translated = translate(event)
        except NONSENSE:
            continue
        if translated is not None:
            run.handle(translated, float(now))
        lifecycle.summary()
        assert run.deadline is None or isinstance(run.deadline, float)


def check_records(record: bytes) -> None:
    try:
        event_of(record)
    except FrameError:
        pass


_RAW = st.one_of(
    st.binary(max_size=50),
    nearly(EVENTS).map(lambda value: json.dumps(value).encode()),
    st.integers(1, 100_000).map(lambda depth: b"[" * depth),
    st.integers(1, 100_000).map(lambda depth: b'{"a":' * depth),
)


# JSON, whoever sends it


def check_json(data: bytes) -> None:
    """It is refused with ValueError; or it can be walked, compared and written, whatever it is."""
    try:
        value = json_reader.read(data)
    except ValueError:
        return
    assert json.loads(json.dumps(value)) == value
    assert repr(value)


_HOSTILE = st.sampled_from(
    [
        *(b"[", b"]", b"{", b"}", b'{"a":', b",", b'"', b"\\", b"\\u", b"d800", b"\xff", b" "),
        *(b"1e999", b"-", b"9" * 21, b"1.5", b"null", b"NaN", b'"x"', b'"\\\\"', b'"\\""'),
        *(b"[" * 63, b"]" * 63),
    ]
)
_HOSTILE_JSON = st.one_of(
    st.lists(_HOSTILE, max_size=12).map(b"".join),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.integers(1, 200).map(lambda depth: b"[" * depth + b"]" * depth),
    _RAW,
)


# The agents that a master tells of

_AGENT = {
    "hostname": "a",
    "attributes": {"rack": "r1", "weight": 2.5, "slots": "[1-3, 7-9]"},
    "resources": {"cpus": 8.0, "mem": 4096.0, "gpus": "{GPU-0}", "ports": "[1-9]"},
    "reserved_resources": {"ml": {"cpus": 2.0}},
}


def check_agents(body: Any) -> None:
    """What is not refused as nonsense can be reckoned with."""
    try:
        agents = feasibility.parse(read_json(json.dumps(body).encode()), "ml")
    except NONSENSE:
        return
    constraints = ["rack:UNIQUE", "hostname:CLUSTER"]
    for jobs in ([workers(3, gpus=1)], [workers(2, constraints=constraints), servers(1)]):
        assert isinstance(
            feasibility.never([task for job in jobs for task in job.tasks], agents), str
        )


# The terminal


def check_progress(line: str) -> None:
    """A progress bar stays in its row, whatever the task writes; so does what nvidia-smi says."""
    parse(line)
    row = Row(line, "running", node=line, bar=progress_bar(line))
    lines = Table((row, row)).lines(60, 24)
    assert len(lines) == 3
    assert all(columns_of(shown) < 60 and plain(shown) == shown for shown in lines)


def check_terminal(line: str) -> None:
    shown = tidy(line)
    rest = shown
    while (at := rest.find("\x1b")) >= 0:
        end = rest.index("m", at)
        assert rest[at + 1] == "[" and set(rest[at + 2 : end]) <= set("0123456789;:")
        rest = rest[end:]
    assert not any((ord(c) < 32 and c not in "\t\x1b") or 127 <= ord(c) < 160 for c in shown)


_LINES = st.text(
    st.one_of(st.sampled_from("\x1b[];:?0123mJHKP_X^\\\x07\x9b\x9d\r\b\n\t"), st.characters()),
    max_size=60,
)

_BARS = st.text("0123456789/%| \u2588\u2501,\u00b2\u0663\t\u65e5", max_size=60)

TARGETS = {
    "recordio": Target(pieces(_STREAM), check_recordio),
    "wire": Target(pieces(_FRAMES), check_wire),
    "packs": Target(nearly(packs.MANIFESTS), packs.check_manifest),
    "channels-runner": Target(channels.SAID, channels.check_runner),
    "channels-launcher": Target(channels.REPORTED, channels.check_launcher),
    "channels-owner": Target(channels.SAID, channels.check_owner),
    "copies": Target(st.tuples(pieces(copies.STREAM), st.booleans()), copies.check_received),
    "requests": Target(inside.REQUESTS, inside.check_requests),
    "stacks": Target(inside.ANSWERS, inside.check_answers),
    "printed-stacks": Target(inside.PRINTED, inside.check_printed),
    "offers": Target(_OFFERS, check_offers),
    "records": Target(_RAW, check_records),
    "events": Target(st.lists(nearly(EVENTS), max_size=6), check_events),
    "json": Target(_HOSTILE_JSON, check_json),
    "agents": Target(nearly([{"slaves": [_AGENT, _AGENT], "recovered_slaves": []}]), check_agents),
    "http-server": Target(pieces(http.BYTES), http.check_server),
    "http-client": Target(pieces(http.BYTES), http.check_client),
    "watch": Target(pieces(kubernetes.WATCH), kubernetes.check_watch),
    "port-forward": Target(pieces(kubernetes.FORWARD), kubernetes.check_port_forward),
    "status": Target(nearly(kubernetes.STATUSES), kubernetes.check_status),
    "credential": Target(nearly([kubernetes.CREDENTIAL]), kubernetes.check_credential),
    "kubeconfig": Target(nearly(kubernetes.KUBECONFIGS), kubernetes.check_kubeconfig),
    "terminal": Target(_LINES, check_terminal),
    "progress": Target(_LINES | _BARS, check_progress),
}
