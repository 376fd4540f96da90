"""Runs the exec plugin that provides credentials, as client.authentication.k8s.io defines it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, BinaryIO

from ....config.secret import Secret
from ....errors import EngineError
from ....json_types import Json
from ....record import Record
from ....shared import json_reader
from ....text import shortened
from .access import Access, Plugin
from .error import ApiError

TIMEOUT = 60.0  # seconds; some query a service
MAX_OUTPUT = 1024 * 1024  # bytes
DRAIN = 1.0  # seconds to read what is left in its pipes


class PluginFailed(ApiError):
    """There are no credentials; *is_retryable* if the program itself said so."""

    def __init__(self, message: str, is_final: bool = True) -> None:
        super().__init__(401, "PluginFailed", message)
        self._is_final = is_final
        self.exit_code = EngineError.exit_code

    @property
    def is_retryable(self) -> bool:
        return not self._is_final


class Credential(Record):
    """What a plugin gave."""

    token: Secret | None = None
    certificate: Secret | None = None  # PEM
    key: Secret | None = None  # PEM
    expires: float | None = None  # seconds since the epoch


async def run(plugin: Plugin, access: Access) -> Credential:
    """Raises PluginFailed."""
    name = f"the exec plugin {plugin.command} of context {access.context!r}"
    output = await _output(plugin, _environment(plugin, access), name)
    try:
        said = json_reader.read(output)
    except ValueError:
        raise PluginFailed(f"{name} did not write JSON") from None
    return _credential(said, plugin, name)


def _environment(plugin: Plugin, access: Access) -> dict[str, str]:
    spec: Json = {"interactive": False}
    if plugin.wants_cluster:
        spec["cluster"] = dict(access.cluster)
    info = {"apiVersion": plugin.version, "kind": "ExecCredential", "spec": spec}
    given = {name: value.reveal() for name, value in plugin.variables.items()}
    return {**os.environ, **given, "KUBERNETES_EXEC_INFO": json.dumps(info)}


async def _output(plugin: Plugin, environment: Mapping[str, str], name: str) -> bytes:
    async with _pipe() as (stdout, to_stdout), _pipe() as (stderr, to_stderr):
        try:
            process = await asyncio.create_subprocess_exec(
                plugin.command,
                *json.loads(plugin.args.reveal()),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=to_stdout,
                stderr=to_stderr,
                env=environment,
                start_new_session=True,  # a Ctrl-C is for us
            )
        except OSError as error:
            hint = f": {plugin.hint}" if plugin.hint else ""
            words = shortened(f"{name} cannot be started: {error.strerror}{hint}", 600)
            raise PluginFailed(words) from None
        to_stdout.close()
        to_stderr.close()
        output, complaint = await _ended(process, stdout, stderr, name)
    if process.returncode:
        last = shortened(complaint.decode(errors="replace"), 300) or "it printed nothing"
        raise PluginFailed(f"{name} failed with exit code {process.returncode}: {last}", False)
    return output


@asynccontextmanager
async def _pipe() -> AsyncIterator[tuple[asyncio.StreamReader, BinaryIO]]:
    """Its two ends. Asyncio's own pipes of a process must all be closed before it has ended."""
    read_fd, write_fd = os.pipe()
    ours, theirs = os.fdopen(read_fd, "rb", 0), os.fdopen(write_fd, "wb", 0)
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), ours)
    try:
        yield reader, theirs
    finally:
        theirs.close()
        transport.close()


async def _ended(
    process: asyncio.subprocess.Process,
    stdout: asyncio.StreamReader,
    stderr: asyncio.StreamReader,
    name: str,
) -> tuple[bytes, bytes]:
    """What the plugin wrote until it ended; then everything it has started is ended, too."""
    output, complaint = bytearray(), bytearray()
    reads = asyncio.gather(_keep(stdout, output), _keep(stderr, complaint))
    try:
        async with asyncio.timeout(TIMEOUT):
            await process.wait()
    except TimeoutError:
        raise PluginFailed(f"{name} did not end within {TIMEOUT:g} s", False) from None
    finally:
        await _kill(process)
        await asyncio.wait([reads], timeout=DRAIN)  # a daemon of another session may hold a pipe
        reads.cancel()
    return bytes(output), bytes(complaint)


async def _keep(stream: asyncio.StreamReader, kept: bytearray) -> None:
    """Keeps a sensible amount of it; the rest is read and dropped."""
    while piece := await stream.read(64 * 1024):
        kept += piece[: MAX_OUTPUT - len(kept)]


async def _kill(process: asyncio.subprocess.Process) -> None:
    """Kills the whole group: the plugin may have ended without its children."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    await process.wait()


def _credential(said: Any, plugin: Plugin, name: str) -> Credential:
    status = said.get("status") if isinstance(said, dict) else None
    if not isinstance(status, dict) or said.get("kind") != "ExecCredential":
        raise PluginFailed(f"{name} wrote no ExecCredential with a status")
    if said.get("apiVersion") != plugin.version:
        raise PluginFailed(f"{name} answered with another apiVersion than {plugin.version}")
    token, certificate, key = (
        _text(status, field, name) for field in ("token", "clientCertificateData", "clientKeyData")
    )
    if not token and not (certificate and key):
        raise PluginFailed(f"{name} gave neither a token nor a certificate and its key")
    return Credential(
        Secret(token) if token else None,
        Secret(certificate) if certificate and key else None,
        Secret(key) if certificate and key else None,
        _expiry(_text(status, "expirationTimestamp", name), name),
    )


def _text(status: Json, field: str, name: str) -> str:
    value = status.get(field) or ""
    if not isinstance(value, str):
        raise PluginFailed(f"{name} gave a {field} that is not text")
    return value


def _expiry(text: str, name: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise PluginFailed(f"{name} gave an expirationTimestamp that is not a time") from None
