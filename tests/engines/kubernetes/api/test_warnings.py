"""What an API server warns of is shown, once."""

from __future__ import annotations

import asyncio

import pytest

from tfmesos.engines.kubernetes.api.client import Client
from tfmesos.engines.kubernetes.api.warnings import MOST, Warnings

from ..servers import answer, serving

PODS = "POST /api/v1/namespaces/tests/pods"
HEADER = '299 - "unknown field \\"spec.x\\"", 299 - "v1 is deprecated, use v2"'


def test_each_warning_of_a_server_is_passed_on_once(certificate):
    warned = []

    async def main():
        answers = {PODS: answer(201, {"kind": "Pod"}, Warning=HEADER)}
        async with serving(answers, certificate) as (_, ours):
            access = ours._connection._access
            async with Client(access, warned.append) as client:
                for _ in range(3):
                    await client.create("pods", {})

    asyncio.run(main())
    assert warned == ['unknown field "spec.x"', "v1 is deprecated, use v2"]


def test_a_warning_of_a_refusal_counts_too(certificate):
    warned = []

    async def main():
        status = {"kind": "Status", "code": 422, "message": "no"}
        answers = {PODS: answer(422, status, Warning='299 - "look here"')}
        async with serving(answers, certificate) as (_, ours):
            async with Client(ours._connection._access, warned.append) as client:
                await client.create("pods", {})

    with pytest.raises(Exception, match="no"):
        asyncio.run(main())
    assert warned == ["look here"]


@pytest.mark.parametrize(
    "header", ["", "299", '110 - "stale"', '299 - "without an end', "x" * 9999]
)
def test_what_is_no_warning_is_left_out(header):
    warned = []
    Warnings(warned.append).take(header)
    assert warned == []


def test_a_server_that_warns_without_end_is_cut_short():
    warned = []
    warnings = Warnings(warned.append)
    for number in range(1000):
        warnings.take(f'299 - "{number} {"x" * 9999}"')
    assert len(warned) == MOST and max(map(len, warned)) < 400
