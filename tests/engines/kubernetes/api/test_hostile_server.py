"""Servers that never come to an end: pages, logs and refusals are bounded."""

from __future__ import annotations

import asyncio
import tracemalloc

import pytest

from tests.bounds import HANG
from tfmesos.engines.kubernetes.api import client
from tfmesos.engines.kubernetes.api import connection as api_connection
from tfmesos.engines.kubernetes.api.error import ApiError, NotKubernetes, Unreachable
from tfmesos.http.server import Answer

from ..servers import answer, serving

PODS = "/api/v1/namespaces/tests/pods"


def page(number, items=()):
    metadata = {"continue": f"after {number}", "resourceVersion": "5"}
    return answer(200, {"items": list(items), "metadata": metadata})


def asked(certificate, answers, ask):
    async def main():
        async with serving(answers, certificate) as (server, ours):
            try:
                return await ask(ours), server
            except ApiError as error:
                return error, server

    return asyncio.run(main())


class Pages:
    """As many as somebody wants."""

    def __init__(self, items=()):
        self.asked, self._items = 0, items

    def __call__(self):
        self.asked += 1
        return page(self.asked, self._items)


def test_a_list_without_an_end_is_given_up_after_so_many_pages(certificate, monkeypatch):
    monkeypatch.setattr(client, "MOST_PAGES", 20)
    pages = Pages()
    error, _ = asked(certificate, {f"GET {PODS}": pages}, lambda it: it.list("pods"))
    assert isinstance(error, NotKubernetes) and not error.is_retryable
    assert "pods" in str(error) and "20 pages" in str(error)
    assert pages.asked == 20


def test_a_list_is_given_up_after_so_many_bytes_and_they_are_not_kept(certificate, monkeypatch):
    monkeypatch.setattr(client, "MOST_BYTES", 3_000_000)
    pages = Pages([{"data": "x" * 500_000}])
    tracemalloc.start()
    try:
        error, _ = asked(certificate, {f"GET {PODS}": pages}, lambda it: it.list("pods"))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert isinstance(error, NotKubernetes) and "pods" in str(error) and "3 MB" in str(error)
    assert pages.asked == 6 and most < 30_000_000


def test_a_list_that_takes_too_long_may_be_tried_again(certificate, monkeypatch):
    monkeypatch.setattr(client, "LIST_TIMEOUT", 0.3)
    monkeypatch.setattr(client, "MOST_PAGES", 10**9)
    error, _ = asked(certificate, {f"GET {PODS}": Pages()}, lambda it: it.list("pods"))
    assert isinstance(error, Unreachable) and error.is_retryable
    assert "pods" in str(error) and "0.3 s" in str(error)


def test_expired_pages_do_not_renew_the_time_of_a_list(certificate, monkeypatch):
    monkeypatch.setattr(client, "LIST_TIMEOUT", 0.3)
    monkeypatch.setattr(client, "FULL_LISTS", 10**9)
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    answers = {f"GET {PODS}": answer(410, gone)}
    error, _ = asked(certificate, answers, lambda it: it.list("pods"))
    assert isinstance(error, Unreachable) and "0.3 s" in str(error)


def dripping(status, piece):
    """An answer whose body never ends."""

    async def body():
        while True:
            yield piece
            await asyncio.sleep(0.01)

    return lambda: Answer(status, body())


def test_a_log_without_an_end_is_its_first_part(certificate, monkeypatch):
    monkeypatch.setattr(client, "LOG_TIMEOUT", 2 * HANG)
    answers = {f"GET {PODS}/x/log": dripping(200, b"x" * 999 + b"\n")}
    found, _ = asked(certificate, answers, lambda it: it.log("x", 2000))
    assert len(found) == 2000


def test_a_log_that_drips_is_what_came_in_time(certificate, monkeypatch):
    monkeypatch.setattr(client, "LOG_TIMEOUT", 0.5)
    answers = {f"GET {PODS}/x/log": dripping(200, b"x")}
    found, _ = asked(certificate, answers, lambda it: it.log("x", 1000))
    assert set(found) == {"x"}


def test_a_refusal_that_drips_is_what_came_in_time(certificate, monkeypatch):
    monkeypatch.setattr(api_connection, "REFUSAL_TIMEOUT", 0.5)
    answers = {f"GET {PODS}/x": dripping(500, b"x")}
    error, _ = asked(certificate, answers, lambda it: it.get("pods", "x"))
    assert isinstance(error, ApiError) and error.code == 500 and "xx" in str(error)


@pytest.mark.parametrize("items", [(), ({"a": 1},)])
def test_a_list_of_many_pages_is_whole(certificate, items):
    pages = [page(number, items) for number in range(50)]
    pages.append(answer(200, {"items": [{"a": 2}], "metadata": {"resourceVersion": "9"}}))
    found, _ = asked(certificate, {f"GET {PODS}": pages}, lambda it: it.list("pods"))
    assert found == ([*items * 50, {"a": 2}], "9")
