"""What comes back from a master's address, told apart and put in words for the user."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

import aiohttp

from ..errors import FrameError, MasterError, SpecError
from .addresses import is_unknown
from .auth import handshake_hint
from .json_values import number, read_json
from .masters import parse

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")


class Unreachable(Exception):
    """No subscription this time; trying again may help."""


class NotMesos(Unreachable):
    """What answers there does not look like a master."""


class NoSuchHost(Unreachable):
    """The resolver says that there is no such name."""


def all_in_one(troubles: Sequence[Unreachable]) -> Unreachable:
    """What several addresses said, as one trouble."""
    kind: type[Unreachable] = Unreachable
    if any(isinstance(it, NotMesos) for it in troubles):
        kind = NotMesos
    elif all(isinstance(it, NoSuchHost) for it in troubles):
        kind = NoSuchHost
    return kind("; ".join(map(str, troubles)))


async def check_subscribed(response: aiohttp.ClientResponse) -> None:
    base, status = base_of(str(response.url)), response.status
    if status == 200 and "Mesos-Stream-Id" in response.headers:
        return
    words = await words_of(response)
    if status == 401:
        raise MasterError(f"the master at {base} refused the credentials ({words})")
    if status in (400, 403, 406, 415):
        raise MasterError(f"the master at {base} refused the framework ({words})")
    if status in (500, 502, 503, 504):
        raise Unreachable(f"{base}: {words}")
    raise NotMesos(f"{base}: not a Mesos master: it answered {words}")


async def words_of(response: aiohttp.ClientResponse) -> str:
    """Status and body of a refusal, shortened to a line."""
    status = f"{response.status} {response.reason}"
    try:
        async with asyncio.timeout(1.0):
            body = await response.content.read(2000)
    except (aiohttp.ClientError, OSError):
        return status
    text = " ".join(body.decode(errors="replace").split())
    return f"{status}: {text[:200]}" if text else status


async def body_of(response: aiohttp.ClientResponse, limit: int) -> bytes:
    """The whole body; ValueError as soon as it is longer than *limit* bytes."""
    body = bytearray()
    async for piece in response.content.iter_any():
        body += piece
        if len(body) > limit:
            raise ValueError(f"an answer of more than {limit} bytes")
    return bytes(body)


async def receive(response: aiohttp.ClientResponse, silence: float) -> bytes:
    """What the stream brings next; b"" at its clean end."""
    try:
        async with asyncio.timeout(silence):
            return await response.content.readany()
    except TimeoutError:
        raise Unreachable(f"nothing from the master for {silence:g} s") from None
    except (aiohttp.ClientError, OSError) as error:
        raise Unreachable(f"the connection broke: {reason_of(error)}") from error


def redirected(response: aiohttp.ClientResponse) -> str:
    """Where to go on. ``Location`` has no scheme when Mesos sends it: then it stays the same."""
    here, location = str(response.url), response.headers.get("Location", "")
    try:
        there = urljoin(here, location)
        parse(base_of(there))
    except (ValueError, SpecError):
        there = here
    if there == here:
        raise NotMesos(f"{base_of(here)}: not a Mesos master: it redirects to {location!r}")
    if here.startswith("https:") and not there.startswith("https:"):
        raise MasterError(
            f"{base_of(here)} redirects to {base_of(there)}, without TLS: not followed"
        )
    return there


async def trouble_with(
    url: str,
    error: Exception,
    limit: float,
    way_to: Callable[[str], str],
    tls: ssl.SSLContext | None,
) -> Unreachable:
    """What went wrong with a request, with the way out if it is TLS that we disagree about."""
    trouble = _in_words(base_of(url), error, limit, way_to)
    if not url.startswith("https:") or not _is_cut_off(error):
        return trouble
    hint = await asyncio.to_thread(handshake_hint, url, tls, limit)
    return NotMesos(f"{trouble} ({hint})") if hint else trouble


def _in_words(
    base: str, error: Exception, limit: float, way_to: Callable[[str], str]
) -> Unreachable:
    tls_hint = "" if base.startswith("https:") else f" (if it speaks TLS, {way_to('https')})"
    if isinstance(error, aiohttp.ServerTimeoutError):
        return Unreachable(f"{base}: no connection in time")
    if isinstance(error, TimeoutError):
        return Unreachable(f"{base}: connected, but no answer within {limit:g} s")
    if _is_cut_off(error):
        return Unreachable(f"{base}: {reason_of(error)}{tls_hint}")
    if isinstance(error, aiohttp.ClientSSLError):
        does_not = "WRONG_VERSION_NUMBER" in str(error)
        hint = f" (it does not speak TLS: {way_to('http')})" if does_not else ""
        return NotMesos(f"{base}: no TLS connection: {reason_of(error)}{hint}")
    if isinstance(error, aiohttp.ClientResponseError | aiohttp.InvalidURL):
        return NotMesos(f"{base}: not a Mesos master: its answer is not HTTP{tls_hint}")
    if isinstance(error, aiohttp.ClientConnectorError) and is_unknown(error.os_error):
        return NoSuchHost(f"{base}: {reason_of(error)}")
    return Unreachable(f"{base}: {reason_of(error)}")


def _is_cut_off(error: Exception) -> bool:
    """Whether the other side ended the connection: without a word, or with an alert of TLS."""
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return True
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if _is_of_tls(cause):
        return "ALERT" in str(cause) or "EOF" in str(cause)
    is_reset = isinstance(cause, OSError) and cause.errno in (errno.ECONNRESET, errno.EPIPE)
    return is_reset or (isinstance(cause, ConnectionError) and not cause.errno)


def _is_of_tls(error: Exception) -> bool:
    """By its text: aiohttp may wrap it, and a run on this machine does without ssl."""
    return "[SSL" in str(error)


def reason_of(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorError):
        error = error.os_error
    if isinstance(error, aiohttp.ClientPayloadError):
        return "the connection was closed"
    if isinstance(error, aiohttp.ServerDisconnectedError) or not str(error):
        return "closed the connection without an answer"
    if isinstance(error, OSError) and not _is_of_tls(error) and error.errno:
        return os.strerror(error.errno) if error.errno > 0 else str(error.strerror)
    return str(error)


def event_of(record: bytes) -> dict[str, Any]:
    try:
        event = read_json(record)
    except ValueError as error:
        raise FrameError(f"a record is not JSON: {record[:60]!r}: {error}") from error
    if not isinstance(event, dict) or not isinstance(event.get("type"), str):
        raise FrameError(f"a record is not an event: {record[:60]!r}")
    return event


def field_of(event: dict[str, Any], kind: type[T], *path: str) -> T:
    value: Any = event
    try:
        for name in path:
            value = value[name]
    except (KeyError, TypeError):
        value = None
    if not isinstance(value, kind):
        raise FrameError(f"{event['type']} without {'.'.join(path)}")
    return value


def heartbeat_of(event: dict[str, Any]) -> float:
    """Seconds between two heartbeats, as SUBSCRIBED tells; a master may leave it out."""
    try:
        return number(event["subscribed"].get("heartbeat_interval_seconds", 15.0))
    except (TypeError, ValueError) as error:
        raise FrameError(f"SUBSCRIBED with a strange heartbeat: {error}") from None


def base_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
