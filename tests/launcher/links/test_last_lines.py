"""The last lines of a task whose runner could not report them."""

import asyncio

from tests.runners import TASK, launcher
from tfmesos.launcher.links.last_lines import joined

from .peers import READY, REGISTER, connected, output


def test_what_the_link_brought_comes_first():
    assert joined(["a", "b"], ["Marked '/' as rslave"]) == ("a", "b")


def test_without_a_link_there_is_what_was_left():
    assert joined([], ["sh: 1: exec: python3: not found"]) == ("sh: 1: exec: python3: not found",)


def test_what_was_left_after_the_last_line_of_the_link_is_the_tasks_own():
    left = ["Marked '/' as rslave", "a", "", "b", "Traceback", "MemoryError"]
    assert joined(["a", "", "b"], left) == ("a", "", "b", "Traceback", "MemoryError")
    assert joined(["", "x"], ["", "of somebody"]) == ("", "x")


def test_there_are_no_more_than_a_report_shows():
    brought = [f"line {number}" for number in range(20)]
    assert joined(brought, ["line 19", "after it"]) == (*brought[1:], "after it")


def test_a_listener_knows_what_a_link_has_brought_last():
    async def main():
        async with launcher() as ours, connected(ours) as peer:
            await peer.join()
            assert ours.rendezvous.last_lines(TASK) == []
            for message in (REGISTER, READY, output("first"), output("second", "third")):
                peer.say(**message)
            await ours.until(lambda: len(ours.lines()) == 3)
            return ours.rendezvous.last_lines(TASK), ours.rendezvous.last_lines("of-nobody")

    assert asyncio.run(main()) == (["first", "second", "third"], [])
