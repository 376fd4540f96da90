"""What a user may say about restarts, for the run and for a job."""

from math import inf

import pytest

from tests.builders import servers, workers
from tests.sentences import begins
from tfmesos.config.restart_settings import RestartPolicy, parse_codes
from tfmesos.errors import SpecError
from tfmesos.inputs.merging import make_config


@pytest.mark.parametrize(
    "codes",
    ["0", "256", "9" * 5000, "-1", "1_3", "1.0", "9-7", "0-3", "200-256", "1-2-3", "3-", "a-b",
     [1.9], [True], [256], 5],
)  # fmt: skip
def test_only_exit_codes_are_worth_a_restart(codes):
    with pytest.raises(SpecError, match="from 1 to 255") as caught:
        parse_codes(codes)
    assert caught.value.field == "retry_codes" and len(str(caught.value)) < 400


def test_exit_codes_may_be_given_as_a_text_or_as_numbers():
    assert parse_codes("1, 255,") == parse_codes([1, 255]) == {1, 255}


def test_exit_codes_may_be_given_as_ranges():
    assert parse_codes("128-255") == set(range(128, 256))
    assert parse_codes("1, 7-9,200 - 201") == {1, 7, 8, 9, 200, 201}


@pytest.mark.parametrize("given, limit", [(5, 5), ("5", 5), (0, 0), ("unlimited", inf)])
def test_restarts_are_a_number_or_unlimited(given, limit):
    assert make_config(workers(1), restarts=given).restarts.limit == limit


@pytest.mark.parametrize("given", ["x", "-1", -1, 1.5, True, "9" * 5000])
def test_other_numbers_of_restarts_are_refused(given):
    with pytest.raises(SpecError, match=r"restarts must be .* 0 or more, or unlimited"):
        make_config(workers(1), restarts=given)


def test_a_task_that_never_starts_is_not_started_without_end():
    assert RestartPolicy(inf).limit_before_start == RestartPolicy().limit
    assert RestartPolicy(7).limit_before_start == 7


def test_a_job_may_have_a_policy_of_its_own_and_has_that_of_the_run_else():
    ps = servers(1, restarts="unlimited", retry_codes="1-255")
    run = RestartPolicy(2, "task", frozenset({137}))
    assert run.changed(ps.restarts, ps.restart_policy, ps.retry_codes) == RestartPolicy(
        inf, "task", frozenset(range(1, 256))
    )
    assert run.changed(None, "never", None) == RestartPolicy(2, "never", frozenset({137}))
    assert ps.replace(num=2).restarts == inf


@pytest.mark.parametrize(
    "field, value, problem",
    [
        ("restarts", "often", "must be ... 0 or more, or unlimited, got 'often'"),
        ("restart_policy", "always", "must be one of never, task, all, got 'always'"),
        ("retry_codes", "300", "must be ... 1 to 255, ... 137,143 or 128-255"),
    ],
)
def test_a_wrong_policy_of_a_job_is_named_with_the_job(field, value, problem):
    with pytest.raises(SpecError) as caught:
        workers(1, **{field: value})
    assert begins(str(caught.value), f"job 'worker': {field} {problem}")


@pytest.mark.parametrize("given", ["chief", "worker:7", "ps", "none"])
def test_only_tasks_that_run_a_command_can_decide_about_success(given):
    with pytest.raises(SpecError, match=r"^success "):
        make_config([workers(1), servers(1, cmd=None)], success=given)
