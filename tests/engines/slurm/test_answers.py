"""What Slurm's commands answer, as 22.05 wrote it."""

from __future__ import annotations

import pytest

from tfmesos.engines.slurm.api import answers
from tfmesos.engines.slurm.api.batch_jobs import Component, Job
from tfmesos.engines.slurm.api.hostlist import expand


@pytest.mark.parametrize(
    "text, names",
    [
        ("n1", ["n1"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10],login", ["n08", "n09", "n10", "login"]),
        ("a[1,3]b[1-2]", ["a1b1", "a1b2", "a3b1", "a3b2"]),
        ("(null)", []),
        ("", []),
    ],
)
def test_a_list_of_nodes_is_expanded(text, names):
    assert list(expand(text)) == names


def test_a_line_of_squeue_is_a_job_with_times_from_now():
    line = "3+1|RUNNING|n[1-2]|1100|1600|tfmesos run 1;run-worker-0-1 127 sh: not found|None\n"
    steps = (("run-worker-0-1", 127, "sh: not found"),)
    expected = Job("3", 1, "RUNNING", "None", ("n1", "n2"), 100.0, 600.0, 4, steps)
    assert answers.jobs(line, 1000.0, {"3+1": 4}) == (expected,)


def test_what_is_no_job_is_left_out():
    assert answers.jobs("nonsense\n\n", 0.0, {}) == ()


def test_the_place_of_a_job_counts_those_of_its_partition_with_more_priority():
    text = "5|10|main\n6|30|main\n7|20|gpu\n8|20|main\nx\n"
    assert answers.places(text) == {"6": 1, "8": 2, "5": 3, "7": 1}


def test_a_comment_of_somebody_else_tells_nothing():
    assert answers.ended_steps("mine;a 1 b") == ()


def test_a_node_of_two_partitions_is_one_node():
    found = answers.nodes("n1|10.0.0.1|rack1,fast\nn1|10.0.0.1|rack1,fast\nn2|n2|(null)\n")
    assert [(node.name, node.features) for node in found] == [
        ("n1", ("rack1", "fast")),
        ("n2", ()),
    ]


@pytest.mark.parametrize(
    "error, words, is_away, is_too_much",
    [
        (
            "sbatch: error: Batch job submission failed: Unable to contact slurm controller "
            "(connect failure)",
            "Unable to contact slurm controller (connect failure)",
            True,
            False,
        ),
        (
            "sbatch: error: Batch job submission failed: Requested node configuration is not "
            "available",
            "Requested node configuration is not available",
            False,
            True,
        ),
        (
            "/usr/bin/sbatch: unrecognized option '--frob'\nTry \"sbatch --help\" for more\n",
            "unrecognized option '--frob'",
            False,
            False,
        ),
        (
            "sbatch: error: Munge encode failed: Failed to access x\nsbatch: error: auth failed",
            "munge refuses: auth failed",
            True,
            False,
        ),
    ],
)
def test_a_complaint_is_one_line_and_tells_whether_to_try_again(error, words, is_away, is_too_much):
    assert answers.complaint(error) == words
    assert (answers.is_away(error), answers.is_too_much(error)) == (is_away, is_too_much)


def test_the_number_of_a_job_is_the_first_thing_that_sbatch_prints():
    assert answers.job_number("12;cluster\n") == "12"
    assert answers.job_number("oops") == ""


def test_a_step_is_found_by_its_name():
    assert answers.step_id("7.batch|batch\n7.0|run-worker-0-1\n", "run-worker-0-1") == "7.0"


def shown(**fields):
    return " ".join(f"{name}={value}" for name, value in {"JobId": 9, **fields}.items()) + "\n"


def test_the_components_of_the_allocation_around_us_are_those_that_run():
    text = shown(JobState="RUNNING", NodeList="n[1-2]", NumCPUs=6, JOB_GRES="gpu:a100:3,gpu:1")
    text += shown(JobState="RUNNING", NodeList="n3", NumCPUs=2, JOB_GRES="(null)")
    text += shown(JobState="RUNNING", NodeList="n4", NumCPUs="2-4")
    text += shown(JobState="COMPLETED", NodeList="n4", NumCPUs=2)
    assert answers.components(text) == (
        Component(("n1", "n2"), 6, 4),
        Component(("n3",), 2, 0),
        Component(("n4",), None, None),
    )


def test_a_node_is_drained_while_its_tasks_run_and_when_they_have_ended():
    listed = "n1 draining\nn1 draining\nn2 drained*\nn3 mixed\nn4 idle\n\n"
    assert answers.drained(listed) == ("n1", "n2")


@pytest.mark.parametrize(
    "text, user",
    [
        ("CANCELLED by 0\nCANCELLED by 0\n", "root"),
        ("CANCELLED by 4000000\n", "user 4000000"),
        ("CANCELLED\n", ""),
        ("RUNNING\n", ""),
        ("", ""),
    ],
)
def test_accounting_knows_who_cancelled_a_job(text, user):
    assert answers.canceller(text) == user
