"""A runner obeys the latest launcher of its run, and tells an older one who that is."""

from __future__ import annotations

import asyncio
import contextlib

from tests.bounds import HANG
from tests.runners import PYTHON, SECRET, TASK, TOLD, Proxy, launcher, runner, settings
from tfmesos.core import events as happened
from tfmesos.launcher.links.exchange import Holder

LATER = b"l" * 32


@contextlib.asynccontextmanager
async def launchers():
    """Two, the second of which took the run over; and what the first was told of it."""
    superseded: asyncio.Queue[str] = asyncio.Queue()
    options = {"awaits_record": True, "grace": 60}
    first = launcher(holder=Holder(1, "first"), superseded=superseded.put_nowait, **options)
    second = launcher(holder=Holder(2, "login-2 (pid 8)"), **options)
    async with first as old, second as new:
        for each in (old, new):
            each.rendezvous.expect(TASK, SECRET, TOLD, LATER)
        yield old, new, superseded


async def lead_to(proxy, ours):
    proxy._target = ours.address
    proxy.cut()


def test_an_older_launcher_is_told_who_holds_the_run_and_gets_nothing_more(tmp_path):
    go = tmp_path / "go"
    script = "import os, time\nprint('up')\nwhile not os.path.exists({0!r}): time.sleep(0.01)"

    async def main():
        async with launchers() as (old, new, superseded), Proxy(old.address).running() as proxy:
            with runner(tmp_path, settings(proxy.address, grace=60)) as theirs:
                for each in (old, new):  # the second one knows from the record what was sent
                    each.start([*PYTHON, script.format(str(go))])
                await old.until(old.lines)
                new.rendezvous.recall(happened.TaskRegistered(TASK, "10.0.0.1:5", 5))
                new.rendezvous.resume({TASK: (0, False)})
                await lead_to(proxy, new)
                await new.until(new.lines)
                heard = len(old.events)
                await lead_to(proxy, old)
                holder = await asyncio.wait_for(superseded.get(), HANG)
                old.send(type="stop", grace=0)  # which is not obeyed
                await lead_to(proxy, new)
                go.touch()
                ended = await new.saw(happened.TaskExited)
                new.rendezvous.recorded({TASK: new.rendezvous._links[TASK].received})
                await theirs.exited()
                late = [type(event) for event in old.events[heard:]]
                return holder, ended.code, old.lines(), new.lines(), late

    holder, code, to_old, to_new, late = asyncio.run(main())
    assert (holder, code) == ("login-2 (pid 8)", 0)
    assert (to_old, to_new) == (["up"], ["up"])
    assert not {happened.TaskExited, happened.TaskReady, happened.TaskRegistered} & set(late)
