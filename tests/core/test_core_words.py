"""A run in the words of the core alone: no engine, only places, tasks and times."""

import pytest

from tests.builders import servers, workers
from tests.replay import only
from tfmesos.config.restarts import RestartPolicy
from tfmesos.core import actions as do
from tfmesos.core import events as happened
from tfmesos.core.avoided_nodes import AVOIDED_FOR, AvoidedNodes
from tfmesos.core.clocks import Clocks
from tfmesos.core.lifecycle import Lifecycle
from tfmesos.core.outcome import Ending, Outcome
from tfmesos.core.phases import Phase
from tfmesos.core.restarts import Restart
from tfmesos.core.rules import Rules
from tfmesos.core.stopping import HANG_REPORT, KILL_GRACE, STOP_MARGIN, Stopping
from tfmesos.core.tasks import Stage, Tasks
from tfmesos.core.timings import Stopwatch
from tfmesos.core.waiting import FIRST_NOTICE, NOTICE_EVERY, REPEAT_AFTER, Wait
from tfmesos.errors import EngineError, Interrupted, ResourcesError, StartTimeout

FIRST, SECOND = "run-worker-0-1", "run-worker-1-1"


class Life:
    """A run whose places are given by hand."""

    def __init__(self, *jobs, **options):
        self.tasks = [task for job in jobs or [workers(2)] for task in job.tasks]
        self.state = Lifecycle(self.tasks, "run", 0.0, Rules(**options))
        self.now, self.outcome = 0.0, None

    def __call__(self, event, now=None):
        self.now = self.now if now is None else now
        todo = list(self.state.handle(event, self.now))
        for finish in only(do.Finish, todo):
            self.outcome = finish.outcome
        return todo

    def ids(self):
        return [member.task_id for member in self.state.members]

    def place(self):
        waiting = [m.task_id for m in self.state.members if m.stage is Stage.WAITING]
        placed = [happened.Placed(id, f"n-{id}", f"host-{id}") for id in waiting]
        return self(happened.TasksPlaced(tuple(placed)))

    def register(self):
        for number, id in enumerate(self.ids()):
            todo = self(happened.TaskRegistered(id, f"h:{number}", number))
        return todo

    def up(self):
        self(happened.EngineReady(), 1.0)
        self.now = 2.0
        self.place()
        self.register()
        self.now = 3.0
        for id in self.ids():
            self(happened.TaskReady(id))
        return self


def said(todo):
    return [(say.text, say.level) for say in only(do.Say, todo)]


def exited(task_id, code, reason="failed", **more):
    return happened.TaskExited(task_id, code, reason, ("last",), **more)


# Where a wait stands


def test_why_the_engine_is_not_ready_is_said_once_and_repeated_seldom():
    wait = Wait(Life().state.members, None, 0.0)
    assert wait.note_trouble("no leader").text == "no leader"
    assert wait.notice(FIRST_NOTICE) == []
    assert [say.text for say in wait.notice(REPEAT_AFTER)] == ["no leader"]


def test_a_wait_is_summed_up_in_a_line_and_nothing_is_said_when_nobody_waits():
    life = Life()
    assert life.state.summary() == "0 of 2 tasks registered; waiting for the cluster"
    life(happened.EngineTrouble("no leader"))
    assert life.state.summary() == "0 of 2 tasks registered; no leader"
    life(happened.EngineReady())
    life(happened.Waiting(1, "too small"))
    assert life.state.summary() == "0 of 2 tasks registered; 1 of 2 tasks placed; too small"
    life.place()
    life(happened.TaskRegistered(FIRST, "h:0", 0))
    assert life.state.summary() == (
        f"1 of 2 tasks registered; waiting for worker:1 on host-{SECOND} to report to the launcher"
    )
    life(happened.TaskRegistered(SECOND, "h:1", 1))
    assert life.state.summary() == ""
    life(happened.StopRequested("enough", 130))
    assert life.state.summary() == "stopping worker:0, worker:1"
    life(exited(FIRST, 143))
    assert life.state.summary() == "stopping worker:1"
    life(exited(SECOND, 143))
    assert (life.state.phase, life.state.summary()) == (Phase.FINISHED, "")


def test_a_pause_is_summed_up():
    life = Life(restarts=RestartPolicy(3, "task"))
    life.up()
    life(exited(FIRST, 137))
    pausing = "1 of 2 tasks registered; waiting a moment before worker:0 is launched again"
    assert life.state.summary() == pausing


# What is said of nodes


@pytest.mark.parametrize(
    "event, words",
    [
        (happened.NodeLost, "the node of worker:1 is lost to the cluster"),
        (
            happened.NodeWanted,
            "the operator wants to take down the node of worker:1; we go on there",
        ),
    ],
)
def test_of_nodes_only_those_of_our_tasks_are_worth_a_word(event, words):
    life = Life().up()
    assert life(event(("of-nobody", SECOND))) == [do.Say(words, "warning")]
    assert life(event(("of-nobody",))) == []


# Ends


def test_a_run_that_is_stopped_says_by_whom():
    life = Life().up()
    todo = life(happened.StopRequested("got SIGINT", 130), 4.0)
    assert [(stop.reason, stop.grace) for stop in only(do.StopRunner, todo)] == [
        ("got SIGINT", KILL_GRACE)
    ] * 2
    assert life.state.is_failing
    life(exited(FIRST, 143))
    life(exited(SECOND, 143))
    assert isinstance(life.outcome.error, Interrupted)
    assert (str(life.outcome.error), life.outcome.exit_code) == ("got SIGINT", 130)
    assert not life.outcome.ok


def test_a_run_that_is_stopped_without_a_code_has_gone_well():
    life = Life().up()
    todo = life(happened.StopRequested("left", 0), 4.0)
    assert {stop.reason for stop in only(do.StopRunner, todo)} == {"the run is over"}
    assert not life.state.is_failing
    life(happened.StopRequested("interrupted", 130), 5.0)  # Ctrl-C then: at once
    assert (life.outcome.ok, life.outcome.exit_code) == (True, 0)
    assert life.outcome.unstopped == ("worker:0", "worker:1")


def test_a_failure_is_told_with_its_host_and_those_after_it():
    life = Life().up()
    life(exited(FIRST, 3, "exited with 3"), 4.0)
    life(exited(SECOND, 5, "exited with 5"), 5.0)
    outcome = life.outcome
    assert str(outcome.error) == f"worker:0 exited with 3 on host-{FIRST}"
    assert (outcome.exit_code, outcome.cause.task_id, outcome.cause.tail) == (3, FIRST, ("last",))
    assert [ending.code for ending in outcome.others] == [5]
    assert (outcome.unstopped, outcome.restarted) == ((), ())


def test_the_others_do_not_count_those_that_we_stopped():
    life = Life().up()
    life(exited(FIRST, 3), 4.0)
    life(exited(SECOND, 143, was_stopped=True), 5.0)
    assert life.outcome.others == ()


def test_a_failure_without_a_code_is_one_all_the_same():
    task = workers(1).tasks[0]
    failure = Outcome.of_failure(Ending(task, "", 0, "vanished", (), 0.0, "id"))
    assert (str(failure.error), failure.exit_code) == ("worker:0 vanished", 1)


# Times


def test_the_time_of_a_run_is_told_by_what_it_went_into():
    life = Life(restarts=RestartPolicy(3, "all"))
    life.up()
    life(exited(FIRST, 137), 5.0)
    assert life.state.phase is Phase.RESTARTING
    life(exited(SECOND, 143, was_stopped=True), 5.5)
    life(happened.Ticked(), 6.5)
    assert life.state.phase is Phase.STARTING
    life.now = 7.0
    life.place()
    life.register()
    for id in life.ids():
        life(happened.TaskReady(id), 8.0)
    for id in life.ids():
        life(exited(id, 0), 10.0)
    assert life.outcome.times == (
        ("finding the cluster", 1.0),
        ("waiting for places", 1.0),
        ("starting the tasks", 1.0),
        ("running", 2.0),
        ("stopping to start again", 1.5),
        ("launching again", 0.5),
        ("starting the tasks", 1.0),
        ("running", 2.0),
        ("stopping", 0.0),
    )
    assert [ending.code for ending in life.outcome.restarted] == [137]


def test_laps_of_one_name_that_follow_each_other_are_one():
    watch = Stopwatch(10.0)
    for what, now in (("a", 11.0), ("a", 13.0), ("b", 14.0), ("a", 15.5)):
        watch.lap(what, now)
    assert watch.laps == (("a", 3.0), ("b", 1.0), ("a", 1.5))


# A task beside the launcher


def test_a_task_beside_the_launcher_needs_no_place():
    tasks = [task for job in (workers(2), servers(1)) for task in job.tasks]
    members = Tasks(tasks, "run")
    members.add_local(tasks[1], "local-id", "127.0.0.1:1")
    first, second, _ = members
    assert (second.task_id, second.is_local, second.hostname) == ("local-id", True, "this machine")
    assert (second.address, second.stage) == ("127.0.0.1:1", Stage.REGISTERED)
    assert members.live("local-id") is second and not first.is_local
    assert [member.task.name for member in members.waiting()] == ["worker:0", "ps:0"]
    assert members.with_runner == 1 and members.live_count == 1


# Back at another place


def test_a_task_that_is_back_at_another_address_is_told_of():
    life = Life(restarts=RestartPolicy(3, "task")).up()
    life(exited(FIRST, 137, "was killed"), 4.0)
    life(happened.Ticked(), 5.0)
    life.place()
    again = "run-worker-0-2"
    todo = life(happened.TaskRegistered(again, "h:9", 9))
    assert said(todo) == [
        (f"worker:0 is back on host-{again}, at h:9; the others look for it at h:0", "warning")
    ]
    (start,) = only(do.Start, todo)
    assert [task_id for task_id, _ in start.tasks] == [again]
    assert start.cluster == {"worker": ["h:9", "h:1"]}


def test_a_task_that_is_back_where_it_was_needs_no_more_words():
    life = Life(restarts=RestartPolicy(3, "task")).up()
    life(exited(FIRST, 137, "was killed"), 4.0)
    life(happened.Ticked(), 5.0)
    life.place()
    todo = life(happened.TaskRegistered("run-worker-0-2", "h:0", 0))
    assert said(todo) == [("worker:0 is back on host-run-worker-0-2", "warning")]


@pytest.mark.parametrize(
    "restart, words",
    [
        (Restart(True, 1, 3, 0.0), "restarting all tasks (restart 1 of 3)"),
        (Restart(False, 2, 3, 4.0), "restarting it in 4 s (restart 2 of 3)"),
        (Restart(False, 0, 3, 8.0), "its GPUs are not free yet: trying again in 8 s"),
    ],
)
def test_a_restart_is_told_in_words(restart, words):
    assert str(restart) == words


def test_a_node_is_left_alone_after_two_failures_in_a_row():
    nodes = AvoidedNodes()
    nodes.failed("n", 1.0)
    nodes.worked("n")
    nodes.failed("n", 2.0)
    assert nodes.until == {}
    nodes.failed("n", 3.0)
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}
    nodes.failed("n", 40.0)
    nodes.worked("another")
    assert nodes.until == {"n": 3.0 + AVOIDED_FOR}


# The wait


def waiting(timeout=None):
    members = Tasks(workers(1).tasks, "run")
    return members, Wait(members, timeout, 10.0)


def test_a_wait_is_told_of_soon_then_when_it_changes_and_seldom_when_it_does_not():
    _, wait = waiting()
    first = 10.0 + FIRST_NOTICE
    assert (wait.deadline, wait.notice(first - 0.1)) == (first, [])
    assert wait.notice(first) == [do.Say("waiting for the cluster", "notice")]
    assert wait.deadline == first + NOTICE_EVERY
    assert wait.notice(first + NOTICE_EVERY) == []
    assert wait.notice(first + REPEAT_AFTER - 0.1) == []
    wait.trouble = "no leader"
    assert wait.notice(first + REPEAT_AFTER + NOTICE_EVERY) == [do.Say("no leader", "notice")]
    late = first + REPEAT_AFTER + NOTICE_EVERY + REPEAT_AFTER
    assert wait.notice(late) == [do.Say("no leader", "notice")]


def test_a_wait_without_a_limit_is_never_over_and_one_with_it_at_its_time():
    _, endless = waiting()
    assert not endless.is_over(1e9)
    _, wait = waiting(2.0)
    assert (wait.deadline, wait.is_over(11.9), wait.is_over(12.0)) == (12.0, False, True)
    wait.begin(20.0)
    assert (wait.deadline, wait.is_over(21.9)) == (22.0, False)


def test_a_wait_that_is_over_has_failed_of_what_was_awaited_last():
    members, wait = waiting(2.0)
    error = wait.error()
    words = "not started after 2 s: waiting for the cluster"
    assert (type(error), str(error)) == (EngineError, words)
    wait.is_engine_ready = True
    error = wait.error()
    words = "not started after 2 s: 0 of 1 task placed; no place has been seen yet"
    assert (type(error), str(error)) == (ResourcesError, words)
    members.launch(happened.Placed("run-worker-0-1", "n", "host"))
    error = wait.error()
    words = "not started after 2 s: waiting for worker:0 on host to report to the launcher"
    assert (type(error), str(error)) == (StartTimeout, words)


# Stopping


def stopping():
    jobs = (workers(3), servers(1, cmd=None))
    members = Tasks([task for job in jobs for task in job.tasks], "run")
    launched, ended, _, server = members
    for member in (launched, ended, server):
        members.launch(happened.Placed(member.task_id, "n", "host"))
    members.move(ended, Stage.ENDED)
    members.move(server, Stage.READY)
    return members, Stopping(members, 0.0)


def test_every_task_is_ended_as_far_as_it_has_come():
    _, stop = stopping()
    assert stop.begin("enough", 10.0) == [
        do.StopPlacing("enough"),
        do.Kill("run-worker-0-1"),
        do.StopRunner("run-ps-0-1", KILL_GRACE, "enough", False),
    ]
    assert stop.over_at == 10.0 + KILL_GRACE + STOP_MARGIN
    assert not stop.is_over(16.9) and stop.is_over(17.0)


def test_to_tell_what_they_do_commands_get_time_and_servers_are_not_asked():
    members, stop = stopping()
    members.move(next(iter(members)), Stage.READY)
    looks = [one.examine for one in only(do.StopRunner, stop.begin("hung", 10.0, examine=True))]
    assert looks == [True, False]
    assert stop.over_at == 10.0 + KILL_GRACE + STOP_MARGIN + HANG_REPORT


def test_a_pause_is_kept_even_if_nobody_lives_and_nobody_outlives_a_long_one():
    members, stop = stopping()
    stop.begin("again", 10.0, pause=30.0)
    assert stop.over_at == 40.0
    for member in members:
        members.move(member, Stage.ENDED)
    assert stop.over_at == 40.0
    assert stop.begin("over", 50.0) == []
    assert stop.over_at == 50.0


def test_output_that_is_held_gives_those_that_are_late_a_little_more():
    _, stop = stopping()
    stop.begin("enough", 10.0)
    stop.wait_for_output(16.9)
    assert stop.over_at == 17.0
    stop.wait_for_output(17.0)
    assert stop.over_at == 17.0 + STOP_MARGIN


# Clocks


def test_the_earliest_time_counts_and_what_is_due_is_done_in_order():
    times = {"a": 5.0, "b": None, "c": 3.0}
    clocks = Clocks(*((lambda k=k: times[k], lambda now, k=k: [(k, now)]) for k in times))
    assert clocks.deadline == 3.0
    assert clocks.tick(2.9) == []
    assert clocks.tick(3.0) == [("c", 3.0)]
    assert clocks.tick(9.0) == [("a", 9.0), ("c", 9.0)]
    assert Clocks().deadline is None


def test_an_outcome_shows_how_it_was():
    assert "succeeded" in repr(Outcome())
    assert "failed: got SIGINT" in repr(Outcome(error=Interrupted("got SIGINT", 130)))


# Who is told what


def test_a_server_imports_tensorflow_while_the_others_register_and_a_command_does_not():
    life = Life(servers(1, cmd=None), workers(1))
    life(happened.EngineReady())
    life.place()
    server, worker = life.state.members
    prepare = do.Prepare(server.task_id, server.task)
    assert life(happened.TaskRegistered(server.task_id, "h:0", 0)) == [prepare]
    (start,) = life(happened.TaskRegistered(worker.task_id, "h:1", 1))
    assert start.cluster == {"ps": ["h:0"], "worker": ["h:1"]}


def test_when_the_last_command_runs_the_cluster_is_announced_with_its_addresses():
    life = Life()
    life(happened.EngineReady())
    life.place()
    life.register()
    assert life(happened.TaskReady(FIRST)) == []
    ready = do.AnnounceReady({"worker": ["h:0", "h:1"]})
    assert life(happened.TaskReady(SECOND)) == [ready]
    assert life(happened.TaskReady(SECOND)) == []


def test_a_runner_that_comes_when_the_run_is_ending_is_sent_away_at_once():
    life = Life()
    life(happened.EngineReady())
    life.place()
    life(happened.StopRequested("enough", 1))
    away = do.StopRunner(FIRST, 0, "the run is ending")
    assert life(happened.TaskRegistered(FIRST, "h:0", 0)) == [away]
    assert life(happened.TaskRegistered("of-nobody", "h:0", 0)) == []
    life(happened.StopRequested("enough", 1))
    assert life.outcome.exit_code == 1
    assert ("starting the tasks", 0.0) in life.outcome.times


def test_a_restart_is_a_warning_and_all_are_told_why_they_are_stopped():
    life = Life(restarts=RestartPolicy(3, "all")).up()
    todo = life(exited(FIRST, 137, "was killed"), 4.0)
    words = f"worker:0 on host-{FIRST} was killed; restarting all tasks in 1 s (restart 1 of 3)"
    assert said(todo) == [(words, "warning")]
    assert only(do.StopRunner, todo) == [
        do.StopRunner(SECOND, KILL_GRACE, "all tasks are started again", False)
    ]


def test_when_nobody_waits_the_engine_is_told_so():
    life = Life().up()
    assert life(happened.EngineReady()) == [do.StopPlacing("no task is waiting")]
    assert life(happened.Impossible("too big")) == []


def test_two_ends_that_are_due_together_are_both_dealt_with():
    life = Life()
    life(happened.EngineReady())
    life.place()
    for task_id in (FIRST, SECOND):
        life(happened.TaskUnreachable(task_id), 1.0)
    assert len(said(life(happened.Ticked(), 100.0))) == 3  # a restart of each, and the wait
