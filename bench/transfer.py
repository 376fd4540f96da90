"""How fast ``tfrun cp`` and ``tfrun forward`` are, and whether all bytes arrive as they were.

``python bench/transfer.py [MEGABYTES] [FLAGS OF TFRUN ...]`` copies a file of random bytes into a
task and out of it, and sends it through a forwarded port and back, and compares the hashes.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable

TFRUN = [sys.executable, "-m", "tfmesos"]
PIECE = 1_000_000  # bytes

# Sends back all that comes, and its hash once it has ended.
ECHO = """
import hashlib, socket
listener = socket.create_server(("127.0.0.1", 0))
print("port", listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    found = hashlib.sha256()
    while data := connection.recv(1 << 20):
        found.update(data)
        connection.sendall(data)
    connection.sendall(found.hexdigest().encode())
    connection.close()
"""


def main() -> None:
    words = sys.argv[1:]
    size = int(words.pop(0)) * PIECE if words and words[0].isdigit() else 1000 * PIECE
    task = [sys.executable if "--image" not in words else "python3", "-c", ECHO]
    command = [*TFRUN, "-w", "1", *words, "--", *task]
    with (
        tempfile.TemporaryDirectory() as place,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run,
    ):
        assert run.stdout is not None
        port = int(_first(run, r"port (\d+)"))
        there, back = os.path.join(place, "there"), os.path.join(place, "back")
        wanted = _make(there, size)
        _tell("cp into the task", size, lambda: _tfrun("cp", there, "worker:0:copied"))
        assert _tfrun("exec", "worker:0", "sha256sum", "copied").split()[0] == wanted
        _tell("cp out of the task", size, lambda: _tfrun("cp", "worker:0:copied", back))
        assert _hash(back) == wanted
        _tfrun("exec", "worker:0", "rm", "copied")
        forward = [*TFRUN, "forward", f"worker:0:{port}"]
        with subprocess.Popen(forward, stderr=subprocess.PIPE, text=True) as way:
            local = int(_first(way, r"127\.0\.0\.1:(\d+) is"))
            _tell("forward, there and back", size, lambda: _echo(local, there, wanted))
            way.terminate()
        run.terminate()
    print(f"all hashes are {wanted}")


def _first(process: subprocess.Popen[str], pattern: str) -> str:
    for line in process.stdout or process.stderr or ():
        if found := re.search(pattern, line):
            return found[1]
    raise SystemExit(f"{process.args} has ended")


def _tfrun(*words: str) -> str:
    return subprocess.run([*TFRUN, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


def _make(path: str, size: int) -> str:
    with open(path, "wb") as file:
        for _ in range(size // PIECE):
            file.write(os.urandom(PIECE))
    return _hash(path)


def _hash(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _echo(port: int, path: str, wanted: str) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection, open(path, "rb") as file:
        sending = threading.Thread(target=_send, args=(connection, file))
        sending.start()
        found, size, tail = hashlib.sha256(), os.path.getsize(path), b""
        while data := connection.recv(PIECE):
            found.update(data[:size])
            tail += data[size:]
            size -= min(size, len(data))
        sending.join()
    assert found.hexdigest() == tail.decode() == wanted, (found.hexdigest(), tail)


def _send(connection: socket.socket, file: object) -> None:
    connection.sendfile(file)  # type: ignore[arg-type]
    connection.shutdown(socket.SHUT_WR)


def _tell(what: str, size: int, work: Callable[[], object]) -> None:
    began = time.monotonic()
    work()
    took = time.monotonic() - began
    print(f"{what}: {took:.1f} s, {size / took / 1e6:.0f} MB/s", flush=True)


if __name__ == "__main__":
    main()
