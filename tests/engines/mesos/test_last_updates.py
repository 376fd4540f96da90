"""Nobody tears down a framework of whose tasks Mesos has not told the end."""

import asyncio

from tfmesos.engines.mesos.events import CallRefused, TaskUpdated
from tfmesos.engines.mesos.last_updates import LastUpdates


def told(*events):
    """Are all ends of the tasks a and b told after these events?"""

    async def main():
        updates = LastUpdates()
        updates.launched(["a", "b"])
        waiting = asyncio.ensure_future(updates.all_arrived())
        await asyncio.sleep(0)  # let it begin
        for event in events:
            updates.heard(event)
        done, _ = await asyncio.wait([waiting], timeout=0.01)
        waiting.cancel()
        return bool(done)

    return asyncio.run(main())


def test_a_task_has_ended_when_mesos_says_so_or_never_took_it():
    assert told(TaskUpdated("a", "TASK_FINISHED"), TaskUpdated("b", "TASK_KILLED"))
    assert told(TaskUpdated("a", "TASK_LOST"), CallRefused("ACCEPT", "413", ("b",)))


def test_a_task_that_is_being_killed_or_out_of_reach_has_not_ended():
    assert not told(TaskUpdated("a", "TASK_FINISHED"))
    assert not told(TaskUpdated("a", "TASK_FINISHED"), TaskUpdated("b", "TASK_KILLING"))
    assert not told(TaskUpdated("a", "TASK_FINISHED"), TaskUpdated("b", "TASK_UNREACHABLE"))
    assert not told(TaskUpdated("a", "TASK_FINISHED"), CallRefused("KILL", "413", ("b",)))
