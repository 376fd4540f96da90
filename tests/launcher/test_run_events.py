import asyncio

from tfmesos.launcher.run_events import Clock, RunEvents


def test_events_are_recorded_and_secured_before_the_first_of_them_is_acted_on():
    log = []

    async def two_events():
        events = RunEvents(
            lambda event, now: log.append(event), lambda: log.append("safe"), Clock()
        )
        events.open()
        events.put("first")
        events.put("second")
        event, _ = await events.get()
        log.append(f"acted on {event}")

    asyncio.run(two_events())
    assert log == ["first", "second", "safe", "acted on first"]
