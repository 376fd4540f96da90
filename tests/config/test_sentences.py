"""What is wrong with jobs and constraints, word for word."""

from tests.sentences import assert_sentences

from . import test_constraints, test_job, test_job_surroundings


def of_jobs():
    for fields, _ in test_job.WRONG_FIELDS:
        yield test_job.job_problem(fields)
    for fields, _ in test_job_surroundings.WRONG_FIELDS:
        yield test_job_surroundings.problem_of(fields)
    for jobs, _ in (*test_job.WRONG_JOBS, *test_job.WRONG_TYPES):
        yield test_job.jobs_problem(jobs)


def of_constraints():
    for text, _ in test_constraints.WRONG:
        yield test_constraints.problem_of(text)


def test_they_are_as_written_down():
    parts = (of_jobs, of_constraints)
    assert_sentences("config-sentences", {part.__name__: list(part()) for part in parts})
