"""How a task ended, out of the words of its engine and its runner, in whatever order."""

import pytest

from tests.builders import servers, workers
from tests.sentences import names
from tfmesos.core import events as happened
from tfmesos.core.actions import Kill, StopRunner
from tfmesos.core.endings import (
    ENDED_FOR_ENGINE,
    EVICTION_REASON,
    OUT_OF_TOUCH,
    SECOND_REPORT,
    UNREACHABLE_GRACE,
    Endings,
)
from tfmesos.core.stopping import KILL_GRACE, STOP_MARGIN, Stopping
from tfmesos.core.tasks import Stage, Tasks
from tfmesos.errors import (
    CANNOT_UNPACK,
    DRAINED,
    EVICTED,
    LAUNCHER_LOST,
    NODE_REFUSED,
    OLD_PYTHON,
    PORT_TAKEN,
    RUNNER_EXITS,
)

NOTHING = (None, [])
FIRST, SECOND = "run-worker-0-1", "run-worker-1-1"
STOPPING = KILL_GRACE + STOP_MARGIN


class Story:
    """Two workers on their nodes, and all that is said of them at a time of the test's choice."""

    def __init__(self, stage=Stage.READY, nodes_alike=False):
        tasks = [task for job in (workers(2), servers(1)) for task in job.tasks]
        self.members = Tasks(tasks, "run")
        self.first, self.second, _ = self.members
        for number, member in enumerate(self.members):
            self.members.launch(happened.Placed(member.task_id, f"n{number}", f"host-{number}"))
            self.members.move(member, stage)
        self.stopping = Stopping(self.members, 0.0)
        self.endings = Endings(self.members, self.stopping, nodes_alike)

    def hears(self, event, now=0.0):
        return self.endings.handle(event, now)

    def ends(self, event, now=0.0):
        end, todo = self.hears(event, now)
        assert todo == []
        return end


def ended(code=1, reason="failed", task=FIRST, **more):
    return happened.TaskEnded(task, code, reason, **more)


def exited(code=3, reason="exited with 3", task=FIRST, **more):
    return happened.TaskExited(task, code, reason, ("last",), **more)


def test_what_its_runner_says_is_believed_at_once():
    story = Story()
    end = story.ends(exited(was_stopped=True), 5.0)
    assert (end.member, end.code, end.reason, end.at) == (story.first, 3, "exited with 3", 5.0)
    assert (end.tail, end.is_reported, end.was_stopped) == (("last",), True, True)
    assert (end.is_lost, end.is_hopeless, end.is_transient) == (False, False, False)


def test_what_is_for_the_report_has_all_that_is_known():
    report = Story().ends(exited(), 5.0).for_report()
    assert (report.task.name, report.hostname, report.code) == ("worker:0", "host-0", 3)
    assert (report.reason, report.tail, report.at) == ("exited with 3", ("last",), 5.0)
    assert (report.task_id, report.was_stopped, report.is_reported) == (FIRST, False, True)
    assert Story().ends(exited(was_stopped=True)).for_report().was_stopped


def test_the_engine_is_believed_when_the_runner_says_nothing_for_a_while():
    story = Story()
    told = StopRunner(FIRST, KILL_GRACE, ENDED_FOR_ENGINE)
    assert story.hears(ended(is_lost=True, is_transient=True), 5.0) == (None, [told])
    assert story.endings.deadline == 5.0 + STOPPING
    assert story.endings.due(5.0 + STOPPING - 0.1) == []
    (end,) = story.endings.due(5.0 + STOPPING)
    assert (end.code, end.reason, end.at, end.is_reported) == (1, "failed", 5.0, False)
    assert (end.is_lost, end.is_transient, end.was_stopped) == (True, True, False)
    assert story.endings.deadline is None


def test_a_runner_that_reports_after_the_engine_knows_better_but_not_when():
    story = Story()
    story.hears(ended(), 5.0)
    end = story.ends(exited(), 6.0)
    assert (end.code, end.at, end.is_reported) == (3, 5.0, True)


@pytest.mark.parametrize("code", [126, 127, OLD_PYTHON])
@pytest.mark.parametrize("nodes_alike", [False, True])
def test_a_missing_interpreter_is_hopeless_where_all_nodes_are_alike(code, nodes_alike):
    end = Story(Stage.LAUNCHED, nodes_alike).ends(ended(code))
    assert end.is_hopeless is nodes_alike
    assert not Story(Stage.LAUNCHED, nodes_alike).ends(ended(125)).is_hopeless
    with_runner = Story(Stage.READY, nodes_alike)
    with_runner.hears(ended(code))
    assert not with_runner.endings.due(STOPPING)[0].is_hopeless


def test_the_codes_of_the_runner_are_explained():
    end = Story(Stage.LAUNCHED).ends(ended(PORT_TAKEN))
    assert (end.code, end.reason) == (PORT_TAKEN, f"failed: {RUNNER_EXITS[PORT_TAKEN]}")
    lost = Story(Stage.LAUNCHED).ends(ended(LAUNCHER_LOST), 7.0)
    assert (lost.code, lost.reason, lost.at) == (1, RUNNER_EXITS[LAUNCHER_LOST], 7.0)
    assert lost.is_lost and lost.member.task_id == FIRST


@pytest.mark.parametrize(
    "stage, code, is_hopeless",
    [
        (Stage.REGISTERED, 1, True),
        (Stage.REGISTERED, PORT_TAKEN, False),
        (Stage.LAUNCHED, CANNOT_UNPACK, True),
        (Stage.LAUNCHED, NODE_REFUSED, False),  # another node may have room
        (Stage.STARTED, 1, False),
        (Stage.READY, 1, False),
    ],
)
def test_a_task_that_cannot_begin_is_hopeless_unless_its_runner_could_not(stage, code, is_hopeless):
    assert Story(stage).ends(exited(code)).is_hopeless is is_hopeless


def test_of_those_that_have_ended_nothing_more_is_heard():
    for stage in (Stage.ENDED, Stage.WAITING):
        story = Story(stage)
        lost = happened.RunnerLost(FIRST, "gone")
        for event in (ended(), exited(), lost, happened.NodeDrained(FIRST)):
            assert story.hears(event) == NOTHING
        assert story.hears(happened.TaskUnreachable(FIRST)) == NOTHING
        assert story.endings.deadline is None


# Seen by the engine


def test_an_attempt_that_was_given_up_and_a_task_of_nobody_are_killed():
    story = Story()
    story.members.move(story.first, Stage.ENDED)
    assert story.hears(happened.TaskSeen(FIRST)) == NOTHING  # it has only just ended
    story.members.retry(story.first)
    for stray in (FIRST, "of-nobody"):
        assert story.hears(happened.TaskSeen(stray)) == (None, [Kill(stray)])
        assert story.hears(happened.TaskUnreachable(stray)) == (None, [Kill(stray)])
    assert story.hears(happened.TaskSeen(SECOND)) == NOTHING


def test_what_is_seen_again_was_not_lost():
    story = Story(Stage.LAUNCHED)
    story.hears(happened.TaskUnreachable(FIRST), 5.0)
    assert story.endings.deadline == 5.0 + UNREACHABLE_GRACE
    assert story.hears(happened.TaskSeen(FIRST)) == NOTHING
    assert story.endings.deadline is None


def test_a_report_is_not_taken_back_by_a_task_that_is_seen():
    story = Story()
    story.hears(ended(), 5.0)
    assert story.hears(happened.TaskSeen(FIRST)) == NOTHING
    assert story.endings.deadline == 5.0 + STOPPING


def test_a_task_out_of_reach_is_lost_after_a_while_unless_its_runner_answers():
    story = Story(Stage.LAUNCHED)
    _, (said,) = story.hears(happened.TaskUnreachable(FIRST), 5.0)
    assert names(said.text, "worker:0 on host-0", "waiting 90 s") and said.level == "warning"
    assert story.hears(happened.TaskUnreachable(FIRST), 6.0) == NOTHING  # and said once
    (end,) = story.endings.due(5.0 + UNREACHABLE_GRACE)
    assert (end.code, end.reason, end.at) == (1, "was unreachable for too long", 5.0)
    assert end.is_lost
    answering = Story()
    _, (said,) = answering.hears(happened.TaskUnreachable(FIRST), 5.0)
    assert names(said.text, "worker:0 on host-0", "answers") and said.level == "warning"
    assert answering.endings.deadline is None
    assert answering.endings.earlier_than(9.0) == []


def test_out_of_touch_and_out_of_reach_is_said():
    story = Story()
    story.hears(happened.RunnerOutOfTouch(FIRST), 4.0)
    _, (said,) = story.hears(happened.TaskUnreachable(FIRST), 5.0)
    assert names(said.text, "worker:0 on host-0", "cluster", "launcher")
    end = story.ends(happened.RunnerLost(FIRST, "no word"), 9.0)
    assert (end.code, end.at, end.is_lost) == (1, 4.0, True)
    assert names(end.reason, "unreachable", "cluster", "launcher", "(no word)")
    assert end.member is story.first


# A runner that is lost


def test_a_task_whose_runner_is_lost_is_killed_and_lost_unless_somebody_knows_more():
    story = Story()
    story.hears(happened.RunnerOutOfTouch(FIRST), 2.0)
    lost = happened.RunnerLost(FIRST, "no word")
    assert story.hears(lost, 5.0) == (None, [Kill(FIRST)])
    assert story.endings.deadline == 5.0 + SECOND_REPORT
    (end,) = story.endings.due(5.0 + SECOND_REPORT)
    words = "lost touch with the launcher (no word)"
    assert (end.code, end.reason, end.at, end.is_lost) == (1, words, 2.0, True)


def test_the_engine_says_why_a_runner_was_lost_unless_we_killed_it():
    for was_killed, reason in ((False, "failed"), (True, "lost touch with the launcher (x)")):
        story = Story()
        story.hears(happened.RunnerLost(FIRST, "x"), 5.0)
        assert story.ends(ended(was_killed=was_killed), 6.0).reason == reason


def test_what_the_engine_has_said_of_a_lost_runner_counts():
    story = Story()
    story.hears(ended(7), 5.0)
    assert story.ends(happened.RunnerLost(FIRST, "x"), 6.0).code == 7


# Drained nodes


def evicted(**more):
    return exited(143, f"{EVICTED} (signal 15)", **more)


def test_an_eviction_waits_for_the_operator_to_be_named():
    story = Story()
    assert story.hears(evicted(), 5.0) == NOTHING
    assert story.endings.deadline == 5.0 + EVICTION_REASON
    story.hears(happened.NodeDrained(FIRST))
    end = story.ends(ended(was_killed=True), 6.0)
    assert (end.reason, end.is_lost, end.code) == (DRAINED, True, 143)
    unnamed = Story()
    unnamed.hears(evicted(), 5.0)
    end = unnamed.ends(ended(was_killed=True), 6.0)
    assert end.reason.startswith(EVICTED) and not end.is_lost


@pytest.mark.parametrize("is_engine_first", [False, True])
def test_an_eviction_from_a_node_that_is_lost_is_told_alike_in_whatever_order(is_engine_first):
    events = [evicted(), ended(1, "is gone with its node", is_lost=True)]
    story = Story()
    first, second = events[::-1] if is_engine_first else events
    assert story.hears(first, 5.0)[0] is None
    end = story.ends(second, 6.0)
    assert (end.code, end.reason, end.is_lost) == (1, "is gone with its node", True)
    assert (end.tail, end.is_reported) == (("last",), True)


def test_on_a_drained_node_an_eviction_needs_no_second_word():
    story = Story()
    story.hears(happened.NodeDrained(FIRST))
    end = story.ends(evicted(), 5.0)
    assert (end.reason, end.is_lost) == (DRAINED, True)
    other = story.ends(exited(task=SECOND), 5.0)
    assert (other.reason, other.is_lost) == ("exited with 3", False)


def test_on_a_drained_node_another_end_is_what_it_is_and_not_by_us():
    story = Story(Stage.LAUNCHED)
    story.hears(happened.NodeDrained(FIRST))
    end = story.ends(ended(was_killed=True))
    assert (end.reason, end.was_stopped) == ("failed", False)
    assert story.ends(ended(was_killed=True, task=SECOND)).was_stopped


def test_what_is_forgotten_is_drained_no_more():
    story = Story()
    story.hears(happened.NodeDrained(FIRST))
    story.endings.forget(story.first)
    assert story.hears(evicted(), 5.0) == NOTHING


# Held back for one that is out of touch


def test_a_failure_waits_for_one_that_is_out_of_touch_and_says_so():
    story = Story()
    story.hears(happened.RunnerOutOfTouch(SECOND), 3.0)
    end = story.ends(exited(), 5.0)
    said = story.endings.hold_back(end, 5.0)
    assert names(said.text, "worker:0 exited with 3", "worker:1 on host-1 is unreachable")
    assert said.level == "warning"
    assert story.endings.deadline == 5.0 + OUT_OF_TOUCH
    assert story.hears(ended(), 6.0) == NOTHING  # which is no news
    story.hears(happened.RunnerBack(SECOND), 7.0)
    assert story.endings.deadline == 5.0
    assert story.endings.due(7.0) == [end]


def test_as_long_as_another_is_out_of_touch_it_goes_on_waiting():
    story = Story()
    for task in (SECOND, "run-ps-0-1"):
        story.hears(happened.RunnerOutOfTouch(task), 3.0)
    story.endings.hold_back(story.ends(exited(), 5.0), 5.0)
    story.hears(happened.RunnerBack(SECOND), 6.0)
    assert story.endings.deadline == 5.0 + OUT_OF_TOUCH
    story.endings.forget(story.second)  # who was found already
    assert story.endings.deadline == 5.0 + OUT_OF_TOUCH


def test_what_needs_no_explanation_is_not_held_back():
    story = Story()
    well = story.ends(exited(0), 5.0)
    assert story.endings.hold_back(story.ends(exited()), 5.0) is None  # nobody is missed
    story.hears(happened.RunnerOutOfTouch(FIRST), 3.0)
    assert story.endings.hold_back(story.ends(exited().replace(task_id=FIRST)), 5.0) is None
    story.hears(happened.RunnerOutOfTouch(SECOND), 3.0)
    assert story.endings.hold_back(well, 5.0) is None
    assert story.endings.hold_back(well.replace(code=1, is_lost=True), 5.0) is None
    assert story.endings.deadline is None


def test_who_is_out_of_touch_ended_when_it_was_last_heard():
    story = Story()
    story.hears(happened.RunnerOutOfTouch(FIRST), 3.0)
    story.hears(happened.RunnerOutOfTouch(FIRST), 4.0)  # again, in vain
    story.hears(ended(), 5.0)
    assert [end.at for end in story.endings.due(9.0)] == [3.0]
    reported = Story()
    reported.hears(ended(), 3.0)
    reported.hears(happened.RunnerOutOfTouch(FIRST), 4.0)
    assert reported.ends(exited(), 5.0).at == 3.0


def test_a_runner_that_is_back_was_never_away():
    story = Story()
    story.hears(happened.RunnerOutOfTouch(FIRST), 3.0)
    story.hears(happened.RunnerBack(FIRST), 4.0)
    story.hears(ended(), 5.0)
    assert [end.at for end in story.endings.due(5.0 + STOPPING)] == [5.0]


def test_a_runner_behind_a_lost_network_may_be_out_of_touch():
    story = Story()
    story.hears(happened.TaskUnreachable(FIRST), 3.0)
    story.hears(happened.RunnerOutOfTouch(FIRST), 4.0)
    assert story.ends(happened.RunnerLost(FIRST, "x"), 9.0).at == 4.0


# Several


def test_the_earliest_end_comes_first_and_those_that_have_ended_meanwhile_not_at_all():
    story = Story()
    story.hears(ended(task=SECOND), 6.0)
    story.hears(ended(), 5.0)
    story.hears(ended(task="run-ps-0-1"), 5.5)
    assert story.endings.deadline == 5.0 + STOPPING
    story.members.move(story.members.live("run-ps-0-1"), Stage.ENDED)
    assert [end.at for end in story.endings.due(20.0)] == [5.0, 6.0]
    assert story.endings.due(20.0) == []


def test_ends_that_came_before_another_are_known():
    story = Story()
    story.hears(ended(), 5.0)
    story.hears(ended(task=SECOND), 6.0)
    assert [end.at for end in story.endings.earlier_than(5.0)] == [5.0]
    assert [end.at for end in story.endings.earlier_than(9.0)] == [6.0]


def test_a_settled_end_is_forgotten():
    story = Story()
    story.hears(ended(), 5.0)
    story.endings.forget(story.first)
    assert story.endings.deadline is None
