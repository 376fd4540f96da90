"""How far the files have come is said when it takes longer than a second, and not too often."""

from __future__ import annotations

from tests.sentences import names
from tfmesos.launcher.ship.sending_progress import ShipProgress

MB = 1024 * 1024


def test_nothing_is_said_of_what_takes_less_than_a_second():
    progress = ShipProgress(10 * MB, 2)
    assert [progress.sent("a", 10 * MB, 0.0), progress.sent("b", 10 * MB, 0.9)] == ["", ""]
    assert progress.line == ""


def test_what_takes_longer_is_told_now_and_then_and_at_its_end():
    progress = ShipProgress(10 * MB, 2)
    told = [progress.sent("a", 1 * MB, at) for at in (0.0, 0.5, 1.0, 1.5, 5.9, 6.0, 6.1)]
    assert told == ["", "", told[2], "", "", told[2], ""]
    assert names(told[2], "10 MB", "2 tasks", "5 %")
    assert progress.line == told[2]
    progress.sent("a", 10 * MB, 7.0)
    assert names(progress.sent("b", 10 * MB, 8.0), "10 MB", "2 tasks", "8.0 s")
    assert progress.line == ""


def test_tasks_that_start_again_count_as_more():
    progress = ShipProgress(10 * MB, 1)
    progress.sent("a", 10 * MB, 0.0)
    assert names(progress.sent("a again", 0, 2.0), "10 MB", "1 task", "50 %")
