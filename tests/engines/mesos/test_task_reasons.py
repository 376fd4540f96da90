"""Which ends of tasks come from outside, in the words of Mesos."""

from pathlib import Path

import pytest

from tfmesos.engines.mesos.task_reasons import REASONS, Whose, whose
from tfmesos.engines.mesos.task_states import STATES, ending

DOCUMENTED = Path(__file__).parents[3].joinpath("docs/failures.rst").read_text()
LABELS = {
    Whose.OUTSIDE: "from outside",
    Whose.OWN: "the command's own",
    Whose.UNSAID: "the state says",
}


def documented():
    """Reason -> label of its row in the table of Mesos's reasons."""
    text = DOCUMENTED.partition("(each begins with ``REASON_``):")[2].partition(
        "If there is no reason"
    )[0]
    found, label = {}, ""
    for line in text.splitlines():
        label = line[:17].strip() or label
        found |= {f"REASON_{word}": label for word in line[19:].split("``")[1::2]}
    return found


def test_the_documentation_has_the_same_table():
    assert documented() == {reason: LABELS[one] for reason, one in REASONS.items()}


@pytest.mark.parametrize("reason", [r for r, one in REASONS.items() if one is Whose.OUTSIDE])
def test_what_comes_from_outside_is_no_fault_of_the_command(reason):
    for state in ("TASK_FAILED", "TASK_KILLED", "TASK_LOST", "TASK_GONE"):
        assert ending("t", state, "", reason).is_lost
    assert not ending("t", "TASK_FINISHED", "", reason).is_lost


@pytest.mark.parametrize("reason", [r for r, one in REASONS.items() if one is Whose.OWN])
def test_what_the_command_did_itself_is_its_own_fault(reason):
    for state in ("TASK_FAILED", "TASK_ERROR", "TASK_LOST"):
        assert not ending("t", state, "", reason).is_lost


@pytest.mark.parametrize("reason", ["", "REASON_RECONCILIATION", "REASON_OF_TOMORROW"])
def test_without_a_reason_the_state_decides(reason):
    assert whose(reason) is Whose.UNSAID
    terminal = {name: meaning for name, meaning in STATES.items() if meaning.is_terminal}
    outside = {name for name in terminal if ending("t", name, "", reason).is_lost}
    lost = {"TASK_LOST", "TASK_DROPPED", "TASK_GONE", "TASK_GONE_BY_OPERATOR", "TASK_UNKNOWN"}
    assert outside == lost and all(state in DOCUMENTED for state in terminal)


def test_an_executor_that_died_and_a_limit_that_was_exceeded_differ():
    died = ending("t", "TASK_FAILED", "Executor terminated", "REASON_EXECUTOR_TERMINATED")
    assert (died.code, died.is_lost) == (1, True)
    assert "REASON_EXECUTOR_TERMINATED" in died.reason
    full = ending("t", "TASK_FAILED", "Disk", "REASON_CONTAINER_LIMITATION_DISK")
    assert (full.code, full.is_lost) == (1, False)
