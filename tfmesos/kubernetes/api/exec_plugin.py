"""Runs the program that gives credentials, as client.authentication.k8s.io describes it."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from ...config.secret import Secret
from ...errors import EngineError
from ...json_types import Json
from ...node import json_reader
from ...record import Record
from ...text import shortened
from .access import Access, Plugin
from .error import ApiError

TIMEOUT = 60.0  # seconds; some ask a service on the way
MAX_OUTPUT = 1024 * 1024  # bytes


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
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *(plugin.command, *json.loads(plugin.args.reveal())),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
            env=environment,
            start_new_session=True,  # a Ctrl-C is for us
        )
    except OSError as error:
        hint = f": {plugin.hint}" if plugin.hint else ""
        words = shortened(f"{name} cannot be started: {error.strerror}{hint}", 600)
        raise PluginFailed(words) from None
    try:
        async with asyncio.timeout(TIMEOUT):
            output, complaint = await _ended(process)
    except TimeoutError:
        raise PluginFailed(f"{name} did not end within {TIMEOUT:g} s", False) from None
    finally:
        await _kill(process)
    if process.returncode:
        last = shortened(complaint.decode(errors="replace"), 300) or "it said nothing"
        raise PluginFailed(f"{name} failed with exit code {process.returncode}: {last}", False)
    return output


async def _ended(process: asyncio.subprocess.Process) -> tuple[bytes, bytes]:
    assert process.stdout is not None and process.stderr is not None
    reads = (_bounded(process.stdout), _bounded(process.stderr))
    output, complaint = await asyncio.gather(*reads)
    await process.wait()
    return output, complaint


async def _bounded(stream: asyncio.StreamReader) -> bytes:
    """All of it, but no more than is sensible; the rest is read and dropped."""
    kept = b""
    while piece := await stream.read(64 * 1024):
        kept += piece[: MAX_OUTPUT - len(kept)]
    return kept


async def _kill(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        try:
            os.killpg(process.pid, 9)
        except ProcessLookupError:
            pass
        await process.wait()


def _credential(said: Any, plugin: Plugin, name: str) -> Credential:
    status = said.get("status") if isinstance(said, dict) else None
    if not isinstance(status, dict) or said.get("kind") != "ExecCredential":
        raise PluginFailed(f"{name} wrote no ExecCredential with a status")
    if said.get("apiVersion") != plugin.version:
        raise PluginFailed(f"{name} answered as another apiVersion than {plugin.version}")
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
        raise PluginFailed(f"{name} gave a {field} that is no text")
    return value


def _expiry(text: str, name: str) -> float | None:
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise PluginFailed(f"{name} gave an expirationTimestamp that is no time") from None
