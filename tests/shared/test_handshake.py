"""Runner and launcher prove the secret of a task to each other, and nobody else can."""

from __future__ import annotations

import json

import pytest
from hypothesis import given

from tests.shared.random_messages import MESSAGES
from tfmesos.errors import HandshakeError
from tfmesos.launcher.links.authentication import LauncherHandshake
from tfmesos.shared.handshake import RunnerHandshake

SECRET = b"s" * 32


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
