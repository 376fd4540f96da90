"""What runner and launcher say to each other, and how they prove they belong to one run.

A frame is four bytes of length (big-endian) and that many bytes of JSON, one object.

The connection opens with a handshake. Each side shows that it knows the secret of the task
by an HMAC over nonces of both, so that a recording is worth nothing; the two proofs differ
in the role they name, so that neither can be sent back as the other:

    runner -> hello {run, task, nonce, again}   launcher -> challenge {nonce, proof}
    runner -> proof {proof, received}           launcher -> welcome {received, secret, settings}

A task starts as a stub, which asks for the runner with ``runner: true`` in its hello. The
challenge names the hash of the runner then, and both proofs cover it; after the proof comes one
frame that is no JSON but the runner, and then the welcome.

The first secret of a task comes in its environment, which operators of Mesos can look at. It
opens the door until the first report of the runner has arrived, as do the settings of the
welcome; for later connections (``again``) it has the secret of the welcome.

After it both sides number the messages that must not get lost, by counting. ``received``
says how many of the other side's have arrived, so that after a broken connection exactly
the missing ones are sent again.

    runner -> launcher, numbered     register {host, port, pid, python}, ready {},
                                     output {stream, text, dropped},
                                     exit {code, reason, tail, stopped}
    runner -> launcher               heartbeat {silent}: seconds since its command wrote anything
    launcher -> runner, numbered     start {...}, stop {grace, reason, examine}
    launcher -> runner               ack {received} (its heartbeat too), bye {} after the exit
"""

from __future__ import annotations

from . import bare, json_reader
from .errors import FrameError, HandshakeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Iterator, Mapping, TypeVar

    Message = dict[str, Any]
    T = TypeVar("T")

MAX_GREETING = 4096  # bytes of a frame from somebody who has not proved anything yet
MAX_FRAME = 16 * 1024 * 1024
NONCE_BYTES = 16
MAX_CODE = 255  # of exit codes: an exit status holds eight bits of them
# What a stub is told, in this order, as words of TFMESOS_RUNNER; owner: the launcher's pid if it is
# on the same machine, else NOBODY.
STUB_SETTINGS = ("launcher", "run", "task", "connect_timeout", "owner")
NOBODY = "self"
NUMBERED = frozenset(["register", "ready", "output", "exit", "prepare", "start", "stop"])

# The runner's own exit codes, outside of what commands and signals usually give.
CANNOT_REACH_LAUNCHER = 211
HANDSHAKE_FAILED = 212
LAUNCHER_LOST = 213
BAD_SETTINGS = 214
PORT_TAKEN = 215
RUNNER_BROKEN = 216
NODE_REFUSED = 217

EVICTED = "was ended by its agent"  # what the runner reports of itself then

RUNNER_EXITS = {
    CANNOT_REACH_LAUNCHER: "could not reach the launcher from its node",
    HANDSHAKE_FAILED: "could not agree on its secret with the launcher",
    LAUNCHER_LOST: "lost touch with the launcher and stopped",
    BAD_SETTINGS: "was started with settings its runner does not understand",
    PORT_TAKEN: "could not have its port: another program on the node uses it",
    RUNNER_BROKEN: "was ended by a fault in the tfmesos runner; its sandbox has the traceback",
    NODE_REFUSED: "was refused by its node what its runner needs; its sandbox says what",
}


def encode(message: Mapping[str, Any]) -> bytes:
    """The frame of one message."""
    body = bare.dumps(message).encode("ascii")
    if len(body) > MAX_FRAME:
        raise FrameError("a message of {} bytes is too long to send".format(len(body)))
    return len(body).to_bytes(4, "big") + body


class FrameDecoder:
    """Bytes in, messages out. Holds no more than one frame of ``limit`` and one read."""

    def __init__(self, limit: int = MAX_GREETING) -> None:
        self.limit = limit
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """The messages that are complete now.

        Each is decoded when it is asked for, so that raising ``limit`` after the handshake
        counts for the very next frame.
        """
        self._buffer += data
        return self._messages()

    def _messages(self) -> Iterator[Message]:
        while len(self._buffer) >= 4:
            length = int.from_bytes(self._buffer[:4], "big")
            if length > self.limit:
                raise FrameError("a frame of {} bytes; {} are allowed".format(length, self.limit))
            if len(self._buffer) < 4 + length:
                return
            body = bytes(self._buffer[4 : 4 + length])
            del self._buffer[: 4 + length]
            yield decode(body)


def decode(body: bytes) -> Message:
    """The message in the body of a frame."""
    try:
        message = json_reader.read(body)
    except ValueError as error:
        raise FrameError("a frame that is not JSON: {}".format(error)) from None
    if not isinstance(message, dict):
        raise FrameError("a frame that holds a {}, no object".format(type(message).__name__))
    if not isinstance(message.get("type"), str):
        raise FrameError("a frame that does not say what it is")
    return message


def field(message: Mapping[str, Any], name: str, kind: type[T]) -> T:
    """The field *name* of *message*, or FrameError if it is not there or no *kind*."""
    value = message.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise FrameError("{!r} without a proper {!r}".format(message.get("type"), name))
    return value


def count(message: Mapping[str, Any], name: str) -> int:
    """The field *name* of *message*, a number that is not negative."""
    value = field(message, name, int)
    if value < 0:
        raise FrameError("{!r} with a negative {!r}".format(message.get("type"), name))
    return value


def ending(message: Mapping[str, Any]) -> tuple[int, str]:
    """``code`` and ``reason`` of *message*; a code that no process can have is a failure, 1."""
    code, reason = field(message, "code", int), field(message, "reason", str)
    if 0 <= code <= MAX_CODE:
        return code, reason
    return 1, "{} (its exit code is none: {})".format(reason, str(code)[:20])


def address(message: Mapping[str, Any]) -> tuple[str, int]:
    """``host`` and ``port`` of *message*, which end up in the commands of users: no tricks."""
    host, port = field(message, "host", str), count(message, "port")
    if not host or not all(c.isascii() and (c.isalnum() or c in "-._:%") for c in host):
        raise FrameError("{!r} without a proper 'host'".format(message.get("type")))
    if port > 65535:
        raise FrameError("{!r} with a port that is none".format(message.get("type")))
    return host, port


def secret(message: Mapping[str, Any]) -> bytes:
    """The field ``secret`` of *message*, which is bytes in hexadecimal."""
    try:
        return bytes.fromhex(field(message, "secret", str))
    except ValueError:
        raise FrameError("a secret that is none") from None


def lines(message: Mapping[str, Any], name: str) -> list[str]:
    """The field *name* of *message*, a list of lines of text."""
    value = field(message, name, list)
    if not all(isinstance(line, str) for line in value):
        raise FrameError("{!r} with {!r} that are no text".format(message.get("type"), name))
    return value


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
            raise HandshakeError("a task that is not expected: {!r}".format(self.task[:80]))
        self.is_stub = message.get("runner") is True
        offered = {"runner": self._runner} if self.is_stub else {}
        parties = (self._run, self.task, _nonce(message), self._nonce, *offered.values())
        self._awaited = _proof(secret, "runner", *parties)
        proof = _proof(secret, "launcher", *parties)
        # In this order: a stub goes by the places, it has no parser.
        return {"type": "challenge", "nonce": self._nonce, "proof": proof, **offered}


def _proof(secret: bytes, role: str, *parties: str) -> str:
    statement = bare.dumps(["tfmesos handshake 1", role, *parties]).encode("ascii")
    return bare.hmac_sha256(secret, statement)


def _same(given: str, right: str) -> bool:
    return bare.compare_digest(given.encode("utf-8", "replace"), right.encode("ascii"))


def _expect(message: Message, kind: str) -> None:
    if message.get("type") != kind:
        raise HandshakeError("{!r} where {!r} was due".format(message.get("type"), kind))


def _text(message: Message, name: str) -> str:
    value = message.get(name)
    if not isinstance(value, str):
        raise HandshakeError("{!r} without {!r}".format(message.get("type"), name))
    return value


def _nonce(message: Message) -> str:
    nonce = _text(message, "nonce")
    if len(nonce) != 2 * NONCE_BYTES:
        raise HandshakeError("a nonce of {} characters".format(len(nonce)))
    return nonce


def join_address(host: str, port: int) -> str:
    """``host:port``, with brackets round an IPv6 address."""
    return "[{}]:{}".format(host, port) if ":" in host else "{}:{}".format(host, port)


def split_address(address: str) -> tuple[str, int]:
    """Host and port of ``host:port`` or ``[IPv6]:port``; ValueError if it is neither."""
    host, colon, port = address.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    name = host[1:-1] if bracketed else host
    number = int(port) if port.isascii() and port.isdigit() else -1
    if not name or not colon or not 0 <= number <= 65535 or (":" in name and not bracketed):
        raise ValueError("{!r} is not host:port".format(address))
    return name, number
