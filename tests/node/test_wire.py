from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfmesos import errors
from tfmesos.errors import RUNNER_EXITS, FrameError, HandshakeError
from tfmesos.node import wire
from tfmesos.node.address import join_address, split_address
from tfmesos.node.handshake import LauncherHandshake, RunnerHandshake

SECRET = b"s" * 32
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.text(), VALUES, max_size=4).map(lambda m: {**m, "type": "x"})


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@given(st.lists(MESSAGES, max_size=5), st.integers(1, 40))
def test_messages_survive_any_cutting_of_the_bytes(messages, size):
    data = b"".join(map(wire.encode, messages))
    decoder = wire.FrameDecoder(wire.MAX_FRAME)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert [message for piece in pieces for message in decoder.feed(piece)] == messages


@given(st.binary(max_size=200))
def test_whatever_comes_is_a_message_or_a_frame_error(data):
    try:
        messages = list(wire.FrameDecoder().feed(data))
    except FrameError:
        return
    assert all(isinstance(message, dict) for message in messages)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'"x"',
        b"\xff",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"[" * 4000,
    ],
)
def test_what_is_not_a_json_object_is_refused(body):
    with pytest.raises(FrameError):
        list(wire.FrameDecoder().feed(frame(body)))


def test_deep_nesting_is_refused_also_where_big_frames_are_allowed():
    bomb = b'{"a":' * 500_000
    with pytest.raises(FrameError):
        list(wire.FrameDecoder(wire.MAX_FRAME).feed(frame(bomb)))


def test_a_frame_that_is_too_long_is_refused_by_its_first_four_bytes():
    with pytest.raises(FrameError, match="4097 bytes; 4096 are allowed"):
        list(wire.FrameDecoder().feed((4097).to_bytes(4, "big")))


def test_the_limit_may_be_raised_between_two_frames_of_one_read():
    short, long = {"type": "short"}, {"type": "long", "text": "x" * 10_000}
    decoder = wire.FrameDecoder()
    found = []
    for message in decoder.feed(wire.encode(short) + wire.encode(long)):
        found.append(message)
        decoder.limit = wire.MAX_FRAME
    assert found == [short, long]


def test_a_message_that_nobody_would_take_is_not_even_sent():
    with pytest.raises(FrameError, match="too long to send"):
        wire.encode({"text": "x" * wire.MAX_FRAME})


@pytest.mark.parametrize("message", [{}, {"n": "1"}, {"n": True}, {"n": None}, {"n": -1}])
def test_a_count_is_a_number_that_is_not_negative(message):
    with pytest.raises(FrameError):
        wire.count(message, "n")


def test_lines_are_a_list_of_text():
    assert wire.lines({"l": ["a", ""]}, "l") == ["a", ""]
    with pytest.raises(FrameError):
        wire.lines({"l": ["a", 1]}, "l")


def launcher_side(secret=SECRET, run="run", nonce=b"L" * 16, tasks=("task",)):
    return LauncherHandshake(run, nonce, lambda task, again: secret if task in tasks else None)


def runner_side(secret=SECRET, run="run", task="task", nonce=b"R" * 16):
    return RunnerHandshake(secret, run, task, nonce)


def test_two_who_know_the_secret_find_each_other():
    launcher, runner = launcher_side(), runner_side()
    proof = runner.feed(launcher.feed(runner.hello()))
    assert launcher.feed(proof) is None
    assert (launcher.done, launcher.task, runner.done) == (True, "task", True)


def test_the_secret_itself_is_never_sent():
    launcher, runner = launcher_side(), runner_side()
    hello = runner.hello()
    challenge = launcher.feed(hello)
    said = json.dumps([hello, challenge, runner.feed(challenge)])
    assert SECRET.hex() not in said and SECRET.decode() not in said


def test_a_runner_with_another_secret_is_refused():
    launcher, impostor = launcher_side(), runner_side(secret=b"x" * 32)
    challenge = launcher.feed(impostor.hello())
    with pytest.raises(HandshakeError):
        impostor.feed(challenge)
    with pytest.raises(HandshakeError):
        launcher.feed({"type": "proof", "proof": "0" * 64})
    assert not launcher.done


def test_a_launcher_with_another_secret_gets_no_proof():
    impostor, runner = launcher_side(secret=b"x" * 32), runner_side()
    with pytest.raises(HandshakeError):
        runner.feed(impostor.feed(runner.hello()))


def nearly(proof: str) -> list[str]:
    """Proofs that differ in one character, a missing one or one too many."""
    other = {"0": "1"}
    changed = [proof[:i] + other.get(proof[i], "0") + proof[i + 1 :] for i in range(len(proof))]
    return [*changed, "", proof[:8], proof[:-1], proof + "0", proof.upper() + " "]


def test_a_proof_counts_to_its_last_character():
    launcher, runner = launcher_side(), runner_side()
    challenge = launcher.feed(runner.hello())
    for wrong in nearly(challenge["proof"]):
        with pytest.raises(HandshakeError):
            runner.feed({**challenge, "proof": wrong})
    proof = runner.feed(challenge)
    for wrong in nearly(proof["proof"]):
        with pytest.raises(HandshakeError):
            launcher.feed({**proof, "proof": wrong})
    assert not launcher.done
    assert launcher.feed(proof) is None and launcher.done


def test_a_recorded_handshake_is_worth_nothing_the_next_time():
    first, runner = launcher_side(), runner_side()
    hello = runner.hello()
    recorded = runner.feed(first.feed(hello))
    second = launcher_side(nonce=b"M" * 16)
    second.feed(hello)
    with pytest.raises(HandshakeError):
        second.feed(recorded)


def test_a_proof_sent_back_does_not_prove_anything():
    launcher, runner = launcher_side(), runner_side()
    challenge = launcher.feed(runner.hello())
    with pytest.raises(HandshakeError):
        launcher.feed({"type": "proof", "proof": challenge["proof"]})


@pytest.mark.parametrize(
    "hello",
    [
        {},
        {"type": "proof", "proof": ""},
        {"type": "hello", "run": "run", "task": "task", "nonce": ""},
        {"type": "hello", "run": "run", "task": "task", "nonce": 5},
        {"type": "hello", "run": "run", "task": "other", "nonce": "0" * 32},
        {"type": "hello", "run": "other", "task": "task", "nonce": "0" * 32},
    ],
)
def test_a_hello_that_is_not_right_gets_no_challenge(hello):
    with pytest.raises(HandshakeError):
        launcher_side().feed(hello)


@given(MESSAGES, MESSAGES)
def test_nothing_but_the_right_proof_opens_the_door(first, second):
    launcher = launcher_side()
    for message in (first, second, {"type": "proof", **second}):
        with pytest.raises(HandshakeError):
            launcher.feed(message)
    launcher.feed(runner_side().hello())
    for message in (first, {"type": "proof", **second}, {"type": "proof", "proof": "é\ud800"}):
        with pytest.raises(HandshakeError):
            launcher.feed(message)
    assert not launcher.done


@given(
    st.one_of(st.from_regex(r"[a-z0-9.-]+", fullmatch=True), st.ip_addresses(v=6).map(str)),
    st.integers(0, 65535),
)
def test_an_address_joined_is_split_again(host, port):
    assert split_address(join_address(host, port)) == (host, port)


@pytest.mark.parametrize(
    "text", ["", "host", ":1", "host:", "host:x", "h:65536", "h:-1", "::1:5", "[]:5", "h:²"]
)
def test_what_is_no_address_is_refused(text):
    with pytest.raises(ValueError, match=r"is not host:port"):
        split_address(text)


def test_every_exit_code_of_the_runner_has_its_own_sentence():
    codes = [
        getattr(errors, name)
        for name in (
            "CANNOT_REACH_LAUNCHER",
            "HANDSHAKE_FAILED",
            "LAUNCHER_LOST",
            "BAD_SETTINGS",
            "PORT_TAKEN",
            "RUNNER_BROKEN",
            "NODE_REFUSED",
        )
    ]
    assert sorted(RUNNER_EXITS) == sorted(codes)
    assert all(192 < code < 255 for code in codes)  # no signal, no usual failure
    assert len(set(RUNNER_EXITS.values())) == len(codes)
