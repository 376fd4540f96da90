"""Answers from the address of a master, classified, with messages for the user."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin, urlsplit

from ....awake_timeout import awake_timeout
from ....errors import FrameError, MasterError, SpecError
from ....http.client import ConnectTimeout, Response
from ....http.connection import HttpError
from ...own_address import is_unknown
from .auth import handshake_hint
from .json_values import number, read_json
from .masters import parse

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")
MAX_WORDS = 2000  # bytes that are read of a refusal


class Unreachable(Exception):
    """No subscription this time; trying again may help."""


class NotMesos(Unreachable):
    """Whatever answers there does not look like a master."""


class NoSuchHost(Unreachable):
    """The resolver says that there is no such name."""


def all_in_one(troubles: Sequence[Unreachable]) -> Unreachable:
    """The problems of several addresses, as one."""
    kind: type[Unreachable] = Unreachable
    if any(isinstance(it, NotMesos) for it in troubles):
        kind = NotMesos
    elif all(isinstance(it, NoSuchHost) for it in troubles):
        kind = NoSuchHost
    # Several masters redirect to the one that leads, which is one trouble if it is dead.
    return kind("; ".join(dict.fromkeys(map(str, troubles))))


async def check_subscribed(response: Response, has_credentials: bool) -> None:
    base, status = base_of(response.url), response.status
    if status == 200 and "mesos-stream-id" in response.headers:
        return
    words = await words_of(response)
    if status == 401:
        if has_credentials:
            raise MasterError(f"the master at {base} refused the credentials ({words})")
        raise MasterError(
            f"the master at {base} requires credentials, and none were given ({words})"
        )
    if status in (400, 403, 406, 415):
        raise MasterError(f"the master at {base} refused the framework ({words})")
    if status in (500, 502, 503, 504):
        raise Unreachable(f"{base}: {words}")
    raise NotMesos(f"{base}: not a Mesos master: it answered {words}")


async def words_of(response: Response) -> str:
    """Status and body of a refusal, shortened to a line."""
    status, body = f"{response.status} {response.reason}", b""
    try:
        async with asyncio.timeout(1.0):
            while len(body) < MAX_WORDS and (piece := await response.read()):
                body += piece
    except (HttpError, OSError):
        pass  # a part is better than nothing
    text = " ".join(body[:MAX_WORDS].decode(errors="replace").split())
    return f"{status}: {text[:200]}" if text else status


async def receive(response: Response, silence: float) -> bytes:
    """The next bytes of the stream; b"" at its clean end."""
    try:
        async with awake_timeout(silence):
            return await response.read()
    except TimeoutError:
        raise Unreachable(f"nothing from the master for {silence:g} s") from None
    except (HttpError, OSError) as error:
        raise Unreachable(f"the connection broke: {reason_of(error)}") from error


def redirected(response: Response) -> str:
    """Where to continue. The ``Location`` of Mesos has no scheme: then the scheme stays."""
    here, location = response.url, response.headers.get("location", "")
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
    """What went wrong with a request, with the way out if the two sides disagree about TLS."""
    trouble = _in_words(base_of(url), error, limit, way_to)
    if not url.startswith("https:") or not _is_cut_off(error):
        return trouble
    hint = await asyncio.to_thread(handshake_hint, url, tls, limit)
    return NotMesos(f"{trouble} ({hint})") if hint else trouble


def _in_words(
    base: str, error: Exception, limit: float, way_to: Callable[[str], str]
) -> Unreachable:
    tls_hint = "" if base.startswith("https:") else f" (if it speaks TLS, {way_to('https')})"
    if isinstance(error, ConnectTimeout):
        return Unreachable(f"{base}: no connection in time")
    if isinstance(error, TimeoutError) and error.errno is None:
        return Unreachable(f"{base}: connected, but no answer within {limit:g} s")
    if _is_cut_off(error):
        return Unreachable(f"{base}: {reason_of(error)}{tls_hint}")
    if _is_of_tls(error):
        does_not = "WRONG_VERSION_NUMBER" in str(error)
        hint = f" (it does not speak TLS: {way_to('http')})" if does_not else ""
        return NotMesos(f"{base}: no TLS connection: {reason_of(error)}{hint}")
    if isinstance(error, HttpError):
        return NotMesos(f"{base}: not a Mesos master: its answer is not HTTP{tls_hint}")
    if isinstance(error, OSError) and is_unknown(error):
        return NoSuchHost(f"{base}: {reason_of(error)}")
    return Unreachable(f"{base}: {reason_of(error)}")


def _is_cut_off(error: Exception) -> bool:
    """Whether the other side ended the connection: silently, or with a TLS alert."""
    if _is_of_tls(error):
        return "ALERT" in str(error) or "EOF" in str(error)
    is_reset = isinstance(error, OSError) and error.errno in (errno.ECONNRESET, errno.EPIPE)
    return is_reset or (isinstance(error, ConnectionError) and not error.errno)


def _is_of_tls(error: Exception) -> bool:
    """Recognized by its text: a run on this machine does not import ssl."""
    return "[SSL" in str(error)


def reason_of(error: Exception) -> str:
    if not str(error):
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
    """Seconds between two heartbeats, as SUBSCRIBED says; a master may leave it out."""
    try:
        return number(event["subscribed"].get("heartbeat_interval_seconds", 15.0))
    except (TypeError, ValueError) as error:
        raise FrameError(f"SUBSCRIBED with an invalid heartbeat: {error}") from None


def base_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
