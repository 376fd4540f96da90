"""The fields of messages: what is taken, and in which words the rest is refused."""

import pytest

from tests.sentences import names
from tfmesos.errors import FrameError, HandshakeError
from tfmesos.launcher.links.authentication import LauncherHandshake
from tfmesos.shared import wire
from tfmesos.shared.handshake import RunnerHandshake


def refusal(take, *arguments):
    with pytest.raises((FrameError, HandshakeError)) as caught:
        take(*arguments)
    return str(caught.value)


def test_a_frame_is_the_length_and_as_many_bytes():
    assert wire.encode({"type": "x"}) == b"\x00\x00\x00\x0c" + b'{"type":"x"}'


def test_a_frame_of_exactly_the_limit_passes():
    frame = wire.encode({"type": "x"})
    assert list(wire.FrameDecoder(12).feed(frame)) == [{"type": "x"}]
    assert names(refusal(list, wire.FrameDecoder(11).feed(frame)), "12 bytes", "11")


def test_before_the_proof_a_frame_has_4096_bytes_at_most():
    assert wire.FrameDecoder().limit == 4096


def test_the_longest_message_has_16_mebibytes():
    fits = "x" * (16 * 1024 * 1024 - len('{"t":""}'))
    assert len(wire.encode({"t": fits})) == 16 * 1024 * 1024 + 4
    assert names(refusal(wire.encode, {"t": fits + "x"}), "16777217 bytes", "too long")


def test_a_frame_in_pieces_is_a_message_with_its_last_byte_and_none_is_lost():
    frame, decoder = wire.encode({"type": "x"}), wire.FrameDecoder()
    found = [list(decoder.feed(frame[at : at + 1])) for at in range(len(frame))]
    assert found == [[]] * (len(frame) - 1) + [[{"type": "x"}]]
    assert list(decoder.feed(frame + frame[:3])) == [{"type": "x"}]
    assert list(decoder.feed(frame[3:])) == [{"type": "x"}]


@pytest.mark.parametrize(
    "body, words",
    [
        (b"[]", "a frame that holds a list, not an object"),
        (b"{}", "a frame without a type"),
        (b'{"type":1}', "a frame without a type"),
    ],
)
def test_what_is_no_message_is_named(body, words):
    assert refusal(wire.decode, body) == words


def test_what_is_no_json_is_named():
    assert refusal(wire.decode, b"{").startswith("a frame that is not JSON: ")


@pytest.mark.parametrize("data", [b"", b"a", b"\0b", b"{}"])
def test_a_piece_of_files_is_framed_as_written_down(data):
    framed = wire.encode_piece(data)
    assert framed == bytes([0, 0, 0, 1 + len(data), 0]) + data
    assert list(wire.FrameDecoder().feed(framed)) == [{"type": "piece", "data": data}]


def test_a_field_has_its_kind():
    message = {"type": "x", "n": 5, "yes": True, "s": "text"}
    assert wire.field(message, "n", int) == 5
    assert wire.field(message, "s", str) == "text"
    assert wire.field(message, "yes", bool) is True
    for name, kind in (("n", str), ("yes", int), ("s", int), ("n", bool), ("none", str)):
        assert refusal(wire.field, message, name, kind) == f"'x' without a proper {name!r}"


def test_a_count_may_be_nothing_and_not_less():
    assert wire.count({"n": 0}, "n") == 0
    assert refusal(wire.count, {"type": "x", "n": -1}, "n") == "'x' with a negative 'n'"


def test_a_secret_is_in_hexadecimal():
    assert wire.secret({"secret": "00ff"}) == b"\x00\xff"
    assert refusal(wire.secret, {"secret": "xyz"}) == "a malformed secret"
    assert refusal(wire.secret, {"type": "welcome"}) == "'welcome' without a proper 'secret'"


# The handshake

SECRET, OURS, THEIRS = b"s" * 32, b"R" * 16, b"L" * 16


def launcher_side(runner=""):
    asked = []

    def secret_of(task, again):
        asked.append((task, again))
        return SECRET if task == "task" else None

    return LauncherHandshake(
        "run", THEIRS, secret_of, lambda python: f"{runner} of {python}"
    ), asked


def runner_side(**again):
    return RunnerHandshake(SECRET, "run", "task", OURS, **again)


def test_the_words_of_a_handshake_are_as_written_down():
    launcher, asked = launcher_side()
    runner = runner_side()
    hello = runner.hello()
    assert hello == {"type": "hello", "run": "run", "task": "task", "nonce": OURS.hex()}
    challenge = launcher.feed(hello)
    assert list(challenge.items()) == [
        ("type", "challenge"),
        ("nonce", THEIRS.hex()),
        ("proof", "b8012027bcabcbf73e706e62589637c586c58f9c503d8113f4a6d5b4d35fa460"),
    ]
    proof = runner.feed(challenge)
    assert proof == {
        "type": "proof",
        "proof": "970f15f55616f304c47d2596a1be28328ef051805a059516233bff55bb61128a",
    }
    assert (launcher.done, launcher.python, runner.done) == (False, None, True)
    assert launcher.feed(proof) is None
    assert (launcher.done, asked) == (True, [("task", False)])


def test_a_runner_that_comes_again_says_so_and_is_asked_for_its_later_secret():
    launcher, asked = launcher_side()
    hello = runner_side(again=True).hello()
    assert hello["again"] is True
    launcher.feed(hello)
    assert asked == [("task", True)]


def test_again_is_only_what_says_true():
    launcher, asked = launcher_side()
    launcher.feed({**runner_side().hello(), "again": 1})
    assert asked == [("task", False)]


def test_a_stub_is_told_the_hash_of_its_runner_which_the_proofs_cover():
    plain, _ = launcher_side("hash")
    stub, _ = launcher_side("hash")
    other, _ = launcher_side("other")
    hello = {**runner_side().hello(), "runner": "3.x"}
    answers = [
        side.feed(said)
        for side, said in ((plain, runner_side().hello()), (stub, hello), (other, hello))
    ]
    assert [answer.get("runner") for answer in answers] == [None, "hash of 3.x", "other of 3.x"]
    assert list(answers[1])[-1] == "runner"
    assert len({answer["proof"] for answer in answers}) == 3
    assert (plain.python, stub.python) == (None, "3.x")


@pytest.mark.parametrize("python", [True, None, 3, {}])
def test_a_stub_whose_python_is_no_text_is_refused(python):
    launcher, _ = launcher_side()
    hello = {**runner_side().hello(), "runner": python}
    assert refusal(launcher.feed, hello) == "'hello' without 'runner'"


def test_a_handshake_is_done_once():
    launcher, _ = launcher_side()
    runner = runner_side()
    challenge = launcher.feed(runner.hello())
    proof = runner.feed(challenge)
    launcher.feed(proof)
    assert names(refusal(runner.feed, challenge), "launcher", "secret of task")
    assert refusal(launcher.feed, proof) == "a wrong proof for task task"


@pytest.mark.parametrize(
    "hello, words",
    [
        ({"type": "x"}, "'x' in place of 'hello'"),
        ({"type": "hello"}, "'hello' without 'task'"),
        ({"type": "hello", "task": "task"}, "'hello' without 'run'"),
        ({"type": "hello", "task": "task", "run": "no"}, "an unexpected task: 'task'"),
        (
            {"type": "hello", "task": "x" * 81, "run": "run"},
            f"an unexpected task: {'x' * 80!r}",
        ),
        ({"type": "hello", "task": "task", "run": "run"}, "'hello' without 'nonce'"),
        (
            {"type": "hello", "task": "task", "run": "run", "nonce": "0" * 31},
            "a nonce of 31 characters",
        ),
    ],
)
def test_a_hello_that_is_wrong_is_named(hello, words):
    launcher, _ = launcher_side()
    assert refusal(launcher.feed, hello) == words
    assert not launcher.done


def test_a_challenge_or_a_proof_out_of_turn_is_named():
    launcher, _ = launcher_side()
    runner = runner_side()
    assert refusal(runner.feed, {"type": "welcome"}) == "'welcome' in place of 'challenge'"
    nonce = {"type": "challenge", "nonce": THEIRS.hex()}
    assert refusal(runner.feed, nonce) == "'challenge' without 'proof'"
    launcher.feed(runner.hello())
    assert refusal(launcher.feed, runner.hello()) == "'hello' in place of 'proof'"
    assert refusal(launcher.feed, {"type": "proof"}) == "'proof' without 'proof'"


def test_a_proof_with_strange_characters_is_only_wrong():
    launcher, _ = launcher_side()
    launcher.feed(runner_side().hello())
    wrong = {"type": "proof", "proof": "é\ud800"}
    assert refusal(launcher.feed, wrong) == "a wrong proof for task task"
