"""The first program of a task: it fetches the runner from the launcher and becomes it.

It travels as text in the command of the task (``payload.command``), where every byte counts. It
executes only code from a launcher that has proved the secret of this task, with a proof that covers
the hash of the code. ``handshake`` describes this in full; ``errors`` has the exit codes.
"""

from __future__ import annotations

import marshal
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    import socket
    from hashlib import sha256
    from importlib.util import MAGIC_NUMBER
    from typing import Any, NoReturn
else:  # what these are made of, without their weight, as in `stdlib`
    import _signal as signal
    import _socket as socket
    from _frozen_importlib_external import MAGIC_NUMBER

    for name in ("_sha2", "_sha256", "hashlib"):
        try:
            sha256 = __import__(name).sha256
            break
        except ImportError:
            pass

CHALLENGE = 218  # bytes of the frame that answers our hello


class Refused(Exception):
    """A retry would not help."""


def main() -> None:
    while os.open(os.devnull, os.O_RDWR) < 3:  # no socket of ours becomes a standard stream
        pass
    signal.signal(15, lambda *_: os._exit(143))
    try:
        settings = os.environ["TFMESOS_RUNNER"].split()
        secret = bytes.fromhex(os.environ["TFMESOS_SECRET"])
        link, runner = fetch(secret, *settings)
    except (ImportError, KeyError, TypeError, ValueError) as error:
        leave(214, f"bad settings in the environment: {error!r}")
    importer, *parts = marshal.loads(runner)
    space: dict[str, Any] = {}
    exec(importer, space)
    space["become_runner"](settings, link, *parts)


def fetch(
    secret: bytes,
    where: str,
    run: str,
    task: str,
    seconds: str,
    owner: str,
    certificate: str = "",
) -> tuple[Any, bytearray]:
    """The connection, and the runner that came over it; *seconds* is how long to try."""
    end = time.monotonic() + float(seconds)
    attempts = 0
    while True:
        link = None
        try:
            link = dial(where, attempts)
            if certificate:
                link = encrypted(link, certificate)
            return link, receive(link, secret, run, task)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", "nonsense") or "no answer"
        except Refused as error:
            reason, end = str(error), 0
        now, state = time.monotonic(), state_of(owner)
        if state in "Tt":  # a Ctrl-Z: it will go on
            end = now + float(seconds)
        if now >= end or (state in "XZ" and not link):
            words = "cannot be reached from this node", "and this task could not agree"
            text = f"the launcher at {where} {words[link is not None]}: {reason}"
            leave(211 + (link is not None), text)
        time.sleep(min(0.05 * 2**attempts, 2, end - now))
        attempts += 1


def dial(where: str, attempts: int) -> Any:
    host, _, port = where.rpartition(":")
    found = socket.getaddrinfo(host.strip("[]").encode(), port, 0, socket.SOCK_STREAM)
    family, kind, _, _, address = found[attempts % len(found)]
    link = socket.socket(family, kind)
    link.settimeout(5)
    link.connect(address)
    return link


def encrypted(link: Any, certificate: str) -> Any:
    """The connection inside TLS: only this launcher has a certificate with this hash."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # nobody has signed it
    link = context.wrap_socket(link)
    if sha256(link.getpeercert(True)).hexdigest() != certificate:
        raise Refused("the launcher has another certificate")
    return link


def receive(link: Any, secret: bytes, *who: str) -> bytearray:
    nonce = os.urandom(16).hex()
    hello = '{"type":"hello","run":"%s","task":"%s","nonce":"%s","runner":"%s"}'
    say(link, hello % (*who, nonce, MAGIC_NUMBER.hex()))
    theirs, proof, digest = read(link, CHALLENGE, 5)[4:].decode().split('"')[7::4]
    said = (*who, nonce, theirs, digest)
    if proof != prove(secret, "launcher", *said):
        raise Refused("the launcher did not prove the secret of " + who[1])
    proof = prove(secret, "runner", *said)
    say(link, f'{{"type":"proof","proof":"{proof}","received":0}}')
    runner = read(link, int.from_bytes(read(link, 4, 20), "big"), 20)
    if sha256(runner).hexdigest() != digest:
        raise Refused("the runner arrived damaged")
    return runner


def prove(secret: bytes, *words: str) -> str:
    key = secret.ljust(64, b"\0")
    text = '["tfmesos handshake 1","' + '","'.join(words) + '"]'
    inner = sha256(bytes(byte ^ 0x36 for byte in key) + text.encode()).digest()
    return sha256(bytes(byte ^ 0x5C for byte in key) + inner).hexdigest()


def say(link: Any, text: str) -> None:
    link.sendall(len(text).to_bytes(4, "big") + text.encode())


def read(link: Any, size: int, seconds: float) -> bytearray:
    data, end = bytearray(), time.monotonic() + seconds
    while len(data) < size:
        link.settimeout(max(end - time.monotonic(), 0.01))
        piece = link.recv(min(size - len(data), 65536))
        if not piece:
            raise OSError(0, "the launcher closed the connection")
        data += piece
    return data


def state_of(owner: str) -> str:
    """The process state of a launcher on this machine; `self` stands for no such process."""
    try:
        with open(f"/proc/{owner}/stat") as file:
            return file.read().rpartition(") ")[2][0]
    except OSError:
        return "R" if owner == "self" else "X"


def leave(code: int, text: str) -> NoReturn:
    try:
        os.write(2, f"tfmesos runner: {text}\n".encode())
    finally:  # where no room is left for words, the code has to do
        os._exit(code)


if __name__ == "__main__":
    main()
