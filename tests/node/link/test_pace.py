from __future__ import annotations

from tfmesos.node.link.pace import Pace


def test_a_launcher_is_waited_for_as_long_as_it_takes_output_fast():
    pace = Pace()
    taken, answers = 0, []
    for tick in range(100, 140):  # every tenth of a second it takes 100 kB
        taken += 100_000
        answers.append(pace.is_fast(taken, tick / 10))
    assert all(answers)


def test_a_launcher_that_takes_output_slowly_is_waited_for_half_a_second_and_no_longer():
    pace = Pace()
    answers = [pace.is_fast(1_000 * tick, tick / 10) for tick in range(100, 140)]
    assert answers == [True] * 5 + [False] * 35
    assert pace.is_fast(10_000_000, 60.0)  # it has kept up for a while
