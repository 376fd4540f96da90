"""What the owner of a run requests: updates that come together are taken one after the other."""

import asyncio

import pytest

from tests.bounds import HANG
from tests.builders import workers
from tests.core.life import Life, exited
from tfmesos.config.launch_config import LaunchConfig
from tfmesos.core import events as happened
from tfmesos.launcher.owner_requests import OwnerRequests
from tfmesos.launcher.updates import NotUpdated


class Owner:
    """A run of two workers whose events wait until ``handle``."""

    def __init__(self, look=None):
        self.config = LaunchConfig((workers(2),))
        self.life = Life(workers(2)).up()
        self.events = []
        self.taken = []
        self.emitted = asyncio.Semaphore(0)
        self.requests = OwnerRequests(self.config, self.emit)
        self.requests.begin(self.life.state, None, look or self.look)

    def emit(self, event):
        self.events.append(event)
        self.emitted.release()

    async def look(self, config):
        pass

    def ask(self, **changes):
        return asyncio.create_task(self.requests.update(changes))

    async def handle(self, *asked):
        """Let the run handle what has come, when all of them wait for it."""
        for _ in asked:
            await self.emitted.acquire()
        for event in self.events:
            if self.requests.decide(event):
                self.taken.append(event)
            self.life(event)
        self.events.clear()

    def begin_next(self):
        """The tasks have stopped, and the next generation begins."""
        for task_id in self.life.ids():
            self.life(exited(task_id, 143, was_stopped=True))
        generations = self.life.state.generations
        self.config = self.config.in_generation(generations.number, generations.jobs)
        self.requests.change(self.config)


def soon(work):
    async def bounded():
        async with asyncio.timeout(HANG):
            return await work

    return asyncio.run(bounded())


@pytest.mark.parametrize(
    "first, second",
    [
        ({"jobs": {"worker": 3}}, {"env": {"A": "1"}}),
        ({"env": {"A": "1"}, "rolling": True}, {"jobs": {"worker": 3}}),
        ({"jobs": {"worker": 3}}, {"env": {"A": "1"}, "rolling": True}),
    ],
)
def test_of_two_updates_that_come_together_the_second_is_refused(first, second):
    async def both():
        owner = Owner()
        asked = [owner.ask(**first), owner.ask(**second)]
        await owner.handle(*asked)
        return await asyncio.gather(*asked, return_exceptions=True), owner.taken

    (done, refused), taken = soon(both())
    assert isinstance(done, tuple) and done
    assert isinstance(refused, NotUpdated) and "it is being updated already" in str(refused)
    assert len(taken) == 1


@pytest.mark.parametrize("is_handled", [True, False])
def test_an_update_of_a_run_that_is_ending_is_refused(is_handled):
    async def refused():
        owner = Owner()
        asked = owner.ask(jobs={"worker": 3})
        await owner.emitted.acquire()
        owner.life(happened.StopRequested("stopped", 130))
        if is_handled:
            await owner.handle()
        else:
            owner.requests.end()
        await asked

    with pytest.raises(NotUpdated, match="it is ending"):
        soon(refused())


def test_an_update_changes_what_the_run_has_become_while_the_cluster_was_asked():
    async def both():
        may_go_on = asyncio.Event()
        looked_at = []

        async def look(config):
            looked_at.append(config.generation)
            if config.jobs[0].env and len(looked_at) == 1:
                await may_go_on.wait()

        owner = Owner(look)
        slow = owner.ask(env={"A": "1"})
        await asyncio.sleep(0)
        quick = owner.ask(jobs={"worker": 4})
        await owner.handle(quick)
        assert await quick == ("worker: 2 -> 4",)
        owner.begin_next()
        may_go_on.set()
        await owner.handle(slow)
        await slow
        return owner, looked_at

    owner, looked_at = soon(both())
    (job,) = owner.taken[-1].jobs
    assert (job.num, job.env) == (4, (("A", "1"),))
    assert looked_at == [1, 1, 2]  # the second time at four workers
