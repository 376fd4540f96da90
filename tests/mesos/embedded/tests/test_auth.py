"""Who is served by the embedded Mesos."""

import base64

import pytest

from tests.mesos.embedded.auth import Auth


class Call:
    """What is asked of a request."""

    def __init__(self, headers, here=("127.0.0.1", 5050)):
        self.headers = {name.lower(): value for name, value in headers.items()}
        self.stream, self.address = object(), here


def basic(words, scheme="Basic"):
    return {"Authorization": f"{scheme} {base64.b64encode(words.encode()).decode()}"}


def refusal(auth, headers):
    answer = auth.refusal(Call(headers), "realm-1")
    return answer and (answer.status, answer.body.decode(), answer.headers["WWW-Authenticate"])


def test_who_has_the_credential_is_served_and_heard_of():
    admitted = []
    auth = Auth(("fw", "hush"), (), admitted.append)
    for scheme in ("Basic", "basic"):
        assert refusal(auth, basic("fw:hush", scheme)) is None
    assert len(admitted) == 2 and None not in admitted


@pytest.mark.parametrize(
    "headers",
    [
        {},
        basic("fw:wrong"),
        basic("fw:"),
        basic("fw:hush", "Bearer"),
        {"Authorization": "Basic ***"},
        {"Authorization": "Basic"},
        {"Authorization": base64.b64encode(b"fw:hush").decode()},
    ],
)
def test_who_has_not_is_refused_and_not_heard_of(headers):
    admitted = []
    auth = Auth(("fw", "hush"), (), admitted.append)
    words = (401, "401 Unauthorized.", 'Basic realm="realm-1"')
    assert refusal(auth, headers) == words
    assert admitted == []


def test_without_a_credential_everybody_is_served():
    assert refusal(Auth(None, ()), {}) is None


def answer_to(headers, here=("127.0.0.1", 5050), names=("Localhost", "node-1")):
    answer = Auth(None, names).refusal_of_name(Call(headers, here))
    return answer and (answer.status, answer.body.decode())


@pytest.mark.parametrize(
    "host, here",
    [
        ("localhost", None),
        ("LOCALHOST:5050", None),
        ("node-1.:80", None),
        ("127.0.0.1:5050", ("127.0.0.1", 5050)),
        ("[::1]:5050", ("::1", 5050)),
        ("[0:0::1]", ("::1", 5050)),
    ],
)
def test_calls_under_our_names_are_served(host, here):
    assert answer_to({"Host": host}, here) is None


@pytest.mark.parametrize(
    "host",
    [
        *("", "evil.example", "127.0.0.2", "node-1@evil.example", "evil@node-1", "node-1:0"),
        *("node-1/x", "node-1:x", "node-1:65536", "[::1", "node-1?x", "node-1XX"),
    ],
)
def test_calls_under_any_other_name_are_not(host):
    words = f"{host!r} is no name of this Mesos; --hostname gives it further ones.\n"
    assert answer_to({"Host": host}) == (403, words)


def test_without_an_address_of_ours_only_the_names_count():
    assert answer_to({"Host": "127.0.0.1"}, here=None)[0] == 403
    assert answer_to({})[0] == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "", "https://localhost"])
def test_calls_of_foreign_pages_are_not_served(origin):
    words = f"Calls of web pages, as {origin!r}, are not taken.\n"
    assert answer_to({"Host": "localhost", "Origin": origin}) == (403, words)


def test_calls_of_our_own_pages_are():
    assert answer_to({"Host": "localhost", "Origin": "http://localhost"}) is None
