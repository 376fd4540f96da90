"""The end: teardown and cancellation."""

from __future__ import annotations

import asyncio
import itertools
import re
from functools import partial

import pytest

from tests.fake_masters import (
    CLEAN_END,
    TRANSCRIPTS,
    GoodMaster,
    MasterThatIsSlowToAnswer,
    MasterThatPlays,
    MasterThatRedirects,
    MasterThatRefusesCalls,
    all_connections_closed,
    recorded_stream,
    server_tasks,
    subscribed,
    update,
)
from tfmesos.engines.mesos.api.client import MesosClient
from tfmesos.engines.mesos.api.masters import MasterList
from tfmesos.errors import MasterError

from .clients import CALM, INFO, Launcher, play


def test_a_teardown_that_is_refused_is_not_waited_for(caplog):
    async def scenario():
        async with MasterThatRefusesCalls("401 Unauthorized", "no") as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.teardown(within=3600)

    play(scenario)
    assert re.search(r"refused TEARDOWN \(http.*: 401 .*: no\): tasks", caplog.text)


def test_teardown_is_confirmed_by_the_end_of_the_stream_and_ends_run():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with launcher.subscribed():
                assert await launcher.client.teardown()
            assert master.requests[-1].body == {
                "framework_id": {"value": "framework-1"},
                "type": "TEARDOWN",
            }
            assert launcher.events.empty()

    play(scenario)


def test_a_teardown_does_not_wait_for_acknowledgements_that_it_makes_needless():
    async def scenario():
        async with MasterThatIsSlowToAnswer() as master:
            launcher = Launcher(master.url)
            async with launcher.subscribed() as group:
                master.send(update("one"), update("two"), update("three"))
                for _ in range(3):
                    await launcher.next("UPDATE")
                await master.next("ACKNOWLEDGE")  # which it does not answer yet
                torn_down = group.create_task(launcher.client.teardown())
                asyncio.get_running_loop().call_soon(master.answering.set)  # once it has begun
                assert await torn_down
            assert [request.body["type"] for request in master.requests[-2:]] == [
                "ACKNOWLEDGE",
                "TEARDOWN",
            ]
            assert len(master.calls("ACKNOWLEDGE")) == 1

    play(scenario)


def test_a_teardown_can_wait_until_all_acknowledgements_have_arrived():
    async def scenario():
        async with MasterThatIsSlowToAnswer() as master:
            launcher = Launcher(master.url)
            async with launcher.subscribed() as group:
                await launcher.client.all_answered()  # there is nothing to wait for yet
                master.send(update("one"), update("two"))
                for _ in range(2):
                    await launcher.next("UPDATE")
                settled = group.create_task(launcher.client.all_answered())
                await master.next("ACKNOWLEDGE")  # which it does not answer yet
                assert not settled.done()
                master.answering.set()
                await settled
                assert len(master.calls("ACKNOWLEDGE")) == 2
                assert await launcher.client.teardown()

    play(scenario)


def test_a_teardown_while_the_master_is_away_is_sent_when_it_is_back():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with launcher.subscribed():
                master.stream.close()
                await launcher.next("DISCONNECTED")
                assert await launcher.client.teardown()

    play(scenario)


def test_a_framework_that_is_already_gone_counts_as_torn_down():
    async def scenario():
        gone = recorded_stream("10-teardown", 4)
        first = recorded_stream("10-teardown", 1).removesuffix(CLEAN_END)
        async with MasterThatPlays(first, gone) as master:
            launcher = Launcher(master.url)
            async with launcher.subscribed():
                master.stream.transport.abort()
                assert await launcher.client.teardown()

    play(scenario)


def test_a_teardown_that_nobody_confirms_is_given_up_in_time():
    async def scenario():
        async with MasterThatRefusesCalls() as master:
            async with Launcher(master.url).running() as launcher:
                await launcher.next("SUBSCRIBED")
                assert not await launcher.client.teardown(within=0.05)

    play(scenario)


class CancelledAt:
    """Awaits something, and cancels the task at the given one of its suspensions."""

    def __init__(self, coroutine, suspension: int):
        self._coroutine, self._suspension = coroutine, suspension

    def __await__(self):
        steps = self._coroutine.__await__()
        resume = partial(next, steps)
        for number in itertools.count(1):
            try:
                waited_for = resume()
            except StopIteration as end:
                return end.value
            if number == self._suspension:
                asyncio.current_task().cancel()
            try:
                yield waited_for
                resume = partial(next, steps)
            except BaseException as error:
                resume = partial(steps.throw, error)


async def cancelled_at(suspension: int, master: GoodMaster) -> bool:
    """Run a client to its end or to the cancellation; tell whether it was cancelled."""
    launcher = Launcher(master.url)

    async def run():
        await CancelledAt(launcher.client.run(), suspension)

    task = asyncio.ensure_future(run())
    try:
        await asyncio.wait([task])
    finally:
        task.cancel()
    if not task.cancelled():
        assert isinstance(task.exception(), MasterError)
    return task.cancelled()


def test_a_cancellation_at_any_await_is_honoured_and_leaves_nothing_open():
    """A redirect, a subscription that is lost, then a fatal error: cancelled at each step."""

    async def scenario():
        lost = (TRANSCRIPTS / "02-launch.raw").read_bytes()
        streams = [lost, recorded_stream("10-teardown", 4)]
        for suspension in itertools.count(1):
            async with MasterThatPlays(*streams, piece=1000) as leader:
                location = f"//{leader.address}/master/api/v1/scheduler"
                async with MasterThatRedirects(location) as master:
                    was_cancelled = await cancelled_at(suspension, master)
                    assert asyncio.all_tasks() == {asyncio.current_task(), *server_tasks()}
                    await all_connections_closed()
            if not was_cancelled:
                break
        assert suspension > 10

    play(scenario)


def test_a_bug_in_the_receiver_of_events_is_not_hidden():
    def broken(event):
        raise ZeroDivisionError

    async def scenario():
        async with GoodMaster() as master:
            client = MesosClient(MasterList((master.url,)), INFO, broken, timing=CALM)
            with pytest.raises(ExceptionGroup) as caught:
                await client.run()
            assert caught.group_contains(ZeroDivisionError)

    play(scenario)


def test_a_subscription_without_a_framework_id_is_no_subscription():
    async def scenario():
        async with GoodMaster() as master:
            launcher = Launcher(master.url)
            async with asyncio.TaskGroup() as group:
                failing = group.create_task(launcher.failure())
                await launcher.next("SUBSCRIBED")
                master.send({**subscribed(), "subscribed": {}})
            assert "SUBSCRIBED without subscribed.framework_id.value" in failing.result()

    play(scenario)
