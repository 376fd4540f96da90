"""What outlives its parent in a task: adopted by the runner, and gone with the task."""

from __future__ import annotations

from tests.runners import gone, run

DAEMON = "setsid sh -c 'echo $$ > pid; exec sleep 600 > /dev/null 2>&1' &"
UNTIL_IT_RUNS = "until [ -s pid ]; do sleep 0.01; done"


def pid_of(daemon) -> int:
    return int((daemon / "pid").read_text())


def test_a_daemon_without_session_or_variables_of_its_task_ends_with_it(tmp_path):
    _, code, _ = run(tmp_path, f"env -i {DAEMON} {UNTIL_IT_RUNS}")
    assert code == 0
    assert gone(pid_of(tmp_path))


def test_a_daemon_of_the_initializer_serves_the_command_and_ends_with_the_task(tmp_path):
    initializer = f"{DAEMON} {UNTIL_IT_RUNS}"
    ours, code, _ = run(tmp_path, "kill -0 $(cat pid) && echo serves", initializer=initializer)
    assert (ours.lines(), code) == (["serves"], 0)
    assert gone(pid_of(tmp_path))


def test_an_orphan_that_has_ended_is_no_zombie_while_the_command_goes_on(tmp_path):
    orphan = "(sleep 0.01 & echo $! > pid)"
    ours, _, _ = run(
        tmp_path, f"{orphan}; while [ -e /proc/$(cat pid) ]; do sleep 0.01; done; id -u"
    )
    assert len(ours.lines()) == 1


def test_orphans_of_orphans_are_found_however_deep(tmp_path):
    inner = r'setsid sh -c "echo \$\$ > pid; sleep 600; :" &'
    outer = f"env -i setsid sh -c '{inner} sleep 600; :' > /dev/null 2>&1 &"
    run(tmp_path, f"{outer} {UNTIL_IT_RUNS}")
    assert gone(pid_of(tmp_path))
