"""How runner and launcher prove to each other that they belong to one run.

The runner's side is here, the launcher's in ``launcher/links/authentication.py``.

Each side shows that it knows the secret of the task by an HMAC over nonces of both, so that a
recording is of no use. The two proofs differ in the role they name, so that neither can be sent
back as the other:

    runner -> hello {run, task, nonce, again}   launcher -> challenge {nonce, proof}
    runner -> proof {proof, received}           launcher -> welcome {received, secret, settings}

A task starts as a stub, which asks for the runner with ``runner`` in its hello: the magic number
of its Python. The challenge names the hash of the runner then, and both proofs cover it; after the
proof comes one frame that is not JSON but the runner, and then the welcome.

The first secret of a task comes in its environment, which operators of Mesos can read. It is
valid, and a welcome has settings, until the first report of the runner has arrived. For later
connections (``again``) the runner has the secret of the welcome.
"""

from __future__ import annotations

from ..errors import HandshakeError
from . import stdlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .wire import Message

NONCE_BYTES = 16
# What a stub receives, in this order, as words of TFMESOS_RUNNER; owner: the launcher's pid if it
# is on the same machine, else NOBODY; certificate: the hash of the launcher's if the link uses TLS.
# Where the launcher dials, its address is :PORT, at the loopback of the task.
STUB_SETTINGS = ("launcher", "run", "task", "connect_timeout", "owner", "certificate")
NOBODY = "self"


class RunnerHandshake:
    """The runner's side: send ``hello``, feed the challenge, send what ``feed`` returns."""

    def __init__(
        self, secret: bytes, run: str, task: str, nonce: bytes, again: bool = False
    ) -> None:
        self._secret = secret
        self._run = run
        self._task = task
        self._nonce = nonce.hex()
        self._again = again  # is it the secret of a welcome?
        self.done = False

    def hello(self) -> Message:
        who = {"type": "hello", "run": self._run, "task": self._task, "nonce": self._nonce}
        return dict(who, again=True) if self._again else who

    def feed(self, message: Message) -> Message:
        """The runner's proof in answer to the launcher's, which is checked first."""
        expect(message, "challenge")
        parties = (self._run, self._task, self._nonce, nonce(message))
        right = proof(self._secret, "launcher", *parties)
        if self.done or not is_same(text(message, "proof"), right):
            raise HandshakeError("the launcher did not prove the secret of " + self._task)
        self.done = True
        return {"type": "proof", "proof": proof(self._secret, "runner", *parties)}


def proof(secret: bytes, role: str, *parties: str) -> str:
    """What the side named *role* shows of *secret*, for these *parties* of the conversation."""
    statement = stdlib.dumps(["tfmesos handshake 1", role, *parties]).encode("ascii")
    return stdlib.hmac_sha256(secret, statement)


def is_same(given: str, right: str) -> bool:
    """Compared in a time that tells nothing about where they differ."""
    return stdlib.compare_digest(given.encode("utf-8", "replace"), right.encode("ascii"))


def expect(message: Message, kind: str) -> None:
    """HandshakeError unless *message* is of this kind."""
    if message.get("type") != kind:
        raise HandshakeError(f"{message.get('type')!r} in place of {kind!r}")


def text(message: Message, name: str) -> str:
    """The field *name* of *message*, or HandshakeError."""
    value = message.get(name)
    if not isinstance(value, str):
        raise HandshakeError(f"{message.get('type')!r} without {name!r}")
    return value


def nonce(message: Message) -> str:
    """The nonce of *message*, or HandshakeError."""
    found = text(message, "nonce")
    if len(found) != 2 * NONCE_BYTES:
        raise HandshakeError(f"a nonce of {len(found)} characters")
    return found
