"""What an API server, a plugin or a kubeconfig may say, right, wrong and nearly right."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.engines.kubernetes.api.test_kubeconfig import HIDDEN, document
from tests.engines.kubernetes.servers import frame, recorded
from tfmesos.config.secret import Secret
from tfmesos.engines.kubernetes.api.access import Plugin
from tfmesos.engines.kubernetes.api.error import ApiError, Question, refusal
from tfmesos.engines.kubernetes.api.exec_plugin import PluginFailed, _credential
from tfmesos.engines.kubernetes.api.kubeconfig import access
from tfmesos.engines.kubernetes.api.port_forward import MAX_ERROR, Channels
from tfmesos.engines.kubernetes.api.watch_lines import Lines, event_of
from tfmesos.errors import TFMesosError

from .strategies import nearly

QUESTION = Question("watch", "pods", "tests", server="https://h")
EVENTS = [it for it in recorded("pod-life") if "type" in it]
STATUSES = [it["body"] for it in recorded("errors") if isinstance(it["body"], dict)]
PLUGIN = {
    **{"apiVersion": "client.authentication.k8s.io/v1", "command": "login", "args": [HIDDEN]},
    **{"env": [{"name": "A", "value": HIDDEN}], "installHint": "x", "interactiveMode": "Never"},
}
CREDENTIAL = {
    "apiVersion": PLUGIN["apiVersion"],
    "kind": "ExecCredential",
    "status": {
        **{"token": HIDDEN, "clientCertificateData": "c", "clientKeyData": HIDDEN},
        "expirationTimestamp": "2030-01-01T00:00:00Z",
    },
}
KUBECONFIGS = [
    document(),
    document(user={"exec": PLUGIN}, cluster={"server": "https://h", "tls-server-name": "n"}),
    document(user={"username": "u", "password": HIDDEN, "client-key-data": "eA=="}),
]

WATCH = st.one_of(
    st.binary(max_size=80),
    st.lists(nearly(EVENTS), max_size=3).map(
        lambda events: b"".join(json.dumps(event).encode() + b"\n" for event in events)
    ),
)
_FRAMES = st.tuples(
    st.binary(max_size=200), st.sampled_from([0, 1, 2, 2, 2, 8, 9, 10, 15]), st.booleans()
).map(lambda parts: frame(*parts))
_DATA = st.binary(max_size=20).map(lambda data: frame(b"\0" + data))
FORWARD = st.one_of(
    st.binary(max_size=80),
    st.lists(_FRAMES | _DATA, max_size=6).map(b"".join),
    st.lists(_DATA, max_size=6).map(b"".join),
)


def check_watch(cut: list[bytes]) -> None:
    """However it is cut, the same events come out, and then perhaps an ApiError of one line."""
    assert _events(cut) == _events([b"".join(cut)])


def _events(data: list[bytes]) -> tuple[list[Any], str]:
    lines, events = Lines(QUESTION.server), []
    try:
        for piece in data:
            for line in lines.feed(piece):
                events.append(event_of(line, QUESTION))
    except ApiError as error:
        assert "\n" not in str(error) and len(str(error)) < 3000
        return events, str(error)
    return events, ""


def check_port_forward(cut: list[bytes]) -> None:
    """The same for the bytes of a pod; what is kept of an error is bounded."""
    assert _forwarded(cut) == _forwarded([b"".join(cut)])


def _forwarded(data: list[bytes]) -> tuple[bytes, bool, bool]:
    """What arrived, whether there was an error (which one depends on the cuts), and an end."""
    channels, arrived = Channels(), b""
    try:
        for piece in data:
            for part in channels.feed(piece):
                arrived += part
            if channels.is_over:
                break
    except ApiError as error:
        assert "\n" not in str(error)
        return arrived, True, True
    assert len(channels.error) <= MAX_ERROR
    return arrived, bool(channels.error), channels.is_over


def check_status(status: Any) -> None:
    error = refusal(403, status, QUESTION)
    assert "\n" not in str(error) and len(str(error)) < 3000
    assert error.exit_code in (2, 69, 75) and isinstance(error.is_retryable, bool)


def check_credential(said: Any) -> None:
    plugin = Plugin("login", Secret("[]"), {}, PLUGIN["apiVersion"])
    try:
        assert HIDDEN not in repr(_credential(said, plugin, "login"))
    except PluginFailed as error:
        assert "\n" not in str(error) and HIDDEN not in str(error)


def check_kubeconfig(config: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config")
        path.write_text(json.dumps(config))
        try:
            assert HIDDEN not in repr(access("k8s://here", {"KUBECONFIG": str(path)}))
        except TFMesosError as error:
            assert "\n" not in str(error) and error.exit_code in (2, 66)
