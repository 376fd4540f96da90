"""How runner and launcher prove to each other that they belong to one run.

Each side shows that it knows the secret of the task by an HMAC over nonces of both, so that a
recording is of no use. The two proofs differ in the role they name, so that neither can be sent
back as the other:

    runner -> hello {run, task, nonce, again}   launcher -> challenge {nonce, proof}
    runner -> proof {proof, received}           launcher -> welcome {received, secret, settings}

A task starts as a stub, which asks for the runner with ``runner: true`` in its hello. The
challenge names the hash of the runner then, and both proofs cover it; after the proof comes one
frame that is no JSON but the runner, and then the welcome.

The first secret of a task comes in its environment, which operators of Mesos can read. It is
valid, and a welcome has settings, until the first report of the runner has arrived. For later
connections (``again``) the runner has the secret of the welcome.
"""

from __future__ import annotations

from ..errors import HandshakeError
from . import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from .wire import Message

NONCE_BYTES = 16
# What a stub is told, in this order, as words of TFMESOS_RUNNER; owner: the launcher's pid if it is
# on the same machine, else NOBODY.
STUB_SETTINGS = ("launcher", "run", "task", "connect_timeout", "owner")
NOBODY = "self"


class RunnerHandshake:
    """The runner's side: send ``hello``, feed the challenge, send what ``feed`` returns."""

    def __init__(
        self, secret: bytes, run: str, task: str, nonce: bytes, again: bool = False
    ) -> None:
        self._secret, self._run, self._task, self._nonce = secret, run, task, nonce.hex()
        self._again = again  # is it the secret of a welcome?
        self.done = False

    def hello(self) -> Message:
        who = {"type": "hello", "run": self._run, "task": self._task, "nonce": self._nonce}
        return dict(who, again=True) if self._again else who

    def feed(self, message: Message) -> Message:
        """The runner's proof in answer to the launcher's, which is checked first."""
        _expect(message, "challenge")
        theirs = _nonce(message)
        parties = (self._run, self._task, self._nonce, theirs)
        if self.done or not _same(
            _text(message, "proof"), _proof(self._secret, "launcher", *parties)
        ):
            raise HandshakeError("the launcher did not prove the secret of " + self._task)
        self.done = True
        return {"type": "proof", "proof": _proof(self._secret, "runner", *parties)}


class LauncherHandshake:
    """The launcher's side: feed the hello, send the challenge, feed the proof.

    Only tasks whose secret *secret_of* knows (their first one, or that of their welcome) get an
    answer. ``task`` may be believed once ``done``. *runner* is the hash of what it is sent if
    ``is_stub``.
    """

    def __init__(
        self,
        run: str,
        nonce: bytes,
        secret_of: Callable[[str, bool], bytes | None],
        runner: str = "",
    ) -> None:
        self._run, self._nonce, self._secret_of = run, nonce.hex(), secret_of
        self._runner = runner
        self._awaited = ""
        self.task = ""
        self.is_stub = False
        self.done = False

    def feed(self, message: Message) -> Message | None:
        """The challenge in answer to a hello; None, and ``done``, for a good proof."""
        if not self._awaited:
            return self._challenge(message)
        _expect(message, "proof")
        if self.done or not _same(_text(message, "proof"), self._awaited):
            raise HandshakeError("a wrong proof for task " + self.task)
        self.done = True
        return None

    def _challenge(self, message: Message) -> Message:
        _expect(message, "hello")
        self.task = _text(message, "task")
        secret = self._secret_of(self.task, message.get("again") is True)
        if _text(message, "run") != self._run or secret is None:
            raise HandshakeError(f"a task that is not expected: {self.task[:80]!r}")
        self.is_stub = message.get("runner") is True
        offered = {"runner": self._runner} if self.is_stub else {}
        parties = (self._run, self.task, _nonce(message), self._nonce, *offered.values())
        self._awaited = _proof(secret, "runner", *parties)
        proof = _proof(secret, "launcher", *parties)
        # In this order: a stub goes by the places, it has no parser.
        return {"type": "challenge", "nonce": self._nonce, "proof": proof, **offered}


def _proof(secret: bytes, role: str, *parties: str) -> str:
    statement = stdlib.dumps(["tfmesos handshake 1", role, *parties]).encode("ascii")
    return stdlib.hmac_sha256(secret, statement)


def _same(given: str, right: str) -> bool:
    return stdlib.compare_digest(given.encode("utf-8", "replace"), right.encode("ascii"))


def _expect(message: Message, kind: str) -> None:
    if message.get("type") != kind:
        raise HandshakeError(f"{message.get('type')!r} where {kind!r} was due")


def _text(message: Message, name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise HandshakeError(f"{message.get('type')!r} without {name!r}")
    return value


def _nonce(message: Message) -> str:
    nonce = _text(message, "nonce")
    if len(nonce) != 2 * NONCE_BYTES:
        raise HandshakeError(f"a nonce of {len(nonce)} characters")
    return nonce
