"""All pods of a run or none: what is given up, when, and what stays."""

import random

import pytest

from tests.builders import workers
from tests.engines.kubernetes.runs import Run
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase


def test_rounds_that_were_given_up_are_not_kept():
    run = Run(workers(2), hold=1.0)
    for _ in range(20):
        run.scheduled(run.made()[-1][0])
        run.wait(60)
    assert len(run.made()) > 5
    assert len(list(run.engine._attempts)) <= 2


def test_pods_that_are_not_all_placed_within_the_hold_time_are_all_deleted_and_made_again():
    run = Run(workers(3), hold=60)
    run.running("worker-0", "worker-1")
    run.register("worker:0")
    run.crowded("worker-2")
    run.wait(59)
    assert run.deleted() == []
    run.wait(2)
    assert run.deleted() == ["worker-0", "worker-1", "worker-2"]
    run.wait(5)
    assert run.made()[1] == ["worker-0-2", "worker-1-2", "worker-2-2"]
    run.running("worker-0-2", "worker-1-2", "worker-2-2")
    run.register()
    assert run.state.phase is Phase.RUNNING


def test_pods_of_which_none_is_placed_hold_nothing_and_are_not_deleted():
    run = Run(workers(2), hold=60)
    run.gated("worker-0", "worker-1")
    run.wait(3600)
    assert run.deleted() == [] and len(run.made()) == 1
    assert "Scheduling is blocked" in run.said()[-1]
    run.scheduled("worker-0")
    run.wait(59)
    assert run.deleted() == []
    run.wait(2)
    assert run.deleted() == ["worker-0", "worker-1"]


def test_a_round_of_which_nothing_is_placed_does_not_inherit_the_hold_of_the_last():
    run = Run(workers(2), hold=60, restarts=RestartPolicy(3, "all"))
    run.running("worker-0")
    run.register("worker:0")
    run.wait(50)
    run.pod("worker-0", node="node-1", phase="Failed", reason="Evicted")
    run.wait(120)
    assert run.made()[-1] == ["worker-0-2"]
    assert run.deleted() == ["worker-0"]


def test_a_pod_without_a_place_that_somebody_deletes_is_gone_although_a_finalizer_keeps_it():
    run = Run(workers(2))
    run.gated("worker-0")
    run.pod("worker-1", unschedulable="gated", is_deleting=True)
    assert run.deleted() == ["worker-0", "worker-1"]
    run.wait(10)
    assert run.made()[-1] == ["worker-0-2", "worker-1-2"]


def test_the_end_of_a_pod_that_was_given_up_is_nobodys_end():
    run = Run(workers(2), hold=10)
    run.running("worker-0")
    run.wait(11)
    run.pod("worker-0", node="node-1", phase="Failed", code=143, reason="Error")
    run.gone("worker-0")
    run.gone("worker-1")
    run(happened.RunnerLost(run.id("worker:0"), "its connection was closed"))
    run.wait(10)
    assert len(run.made()) == 2 and run.outcome is None


def test_each_pause_is_random_and_up_to_eight_times_as_long_as_the_first():
    pauses = []
    for jitter in (0.0, 1.0):
        run = Run(workers(2), hold=10, jitter=lambda value=jitter: value)
        for _ in range(7):
            run.scheduled(run.made()[-1][0])
            run.wait(51)
        times = [todo.text for todo in run.log if hasattr(todo, "text")]
        pauses.append([text.split("for ")[-1] for text in times if "left to others" in text])
        assert len(run.made()) > 5
    assert pauses[0][0] == "1 s" and pauses[1][0] == "5 s"
    assert "8 s" in pauses[0] and "40 s" in pauses[1]


def two_runs(seed_a, seed_b):
    """Two runs of two tasks on three nodes, each taking what is free, one after the other."""
    runs = [
        Run(workers(2), hold=60, jitter=random.Random(seed).random) for seed in (seed_a, seed_b)
    ]
    held = [set(), set()]
    done = []
    for _ in range(600):
        for number in (0, 1, 1, 0):
            run = runs[number]
            live = [name for made in run.made() for name in made if name not in run.deleted()]
            held[number] &= set(live)
            for name in live:
                if name not in held[number] and sum(map(len, held)) < 3:
                    held[number].add(name)
                    run.scheduled(name)
                    break
            if len(held[number]) == 2 and number not in done:
                done.append(number)
                return done
            run.wait(0.25)
    return done


@pytest.mark.parametrize("seed", range(5))
def test_two_runs_that_need_two_thirds_each_never_block_each_other(seed):
    assert two_runs(seed, seed + 100)
