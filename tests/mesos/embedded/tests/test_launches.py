"""Launches that are refused."""

from __future__ import annotations

import pytest

from .master_state import Bench
from .wire import framework, task


def test_a_task_group_is_refused_in_words():
    bench = Bench()
    bench.subscribe()
    offer = bench.offers()[0]
    group = {"tasks": [{**task("t", "true"), "agent_id": offer["agent_id"]}]}
    operation = {"type": "LAUNCH_GROUP", "launch_group": {"task_group": group}}
    bench.call("ACCEPT", offer_ids=[offer["id"]], operations=[operation])
    (status,) = bench.updates("t")
    assert status["state"] == "TASK_ERROR"
    assert "does not launch task groups" in status["message"]


@pytest.mark.parametrize(
    "changes",
    [
        {"role": "ml"},
        {"reservations": [{"type": "STATIC", "role": "ml"}]},
        {"allocation_info": {"role": "ml"}},
    ],
)
def test_resources_of_another_role_do_not_fit_an_offer(changes):
    bench = Bench()
    bench.subscribe()
    entry = {"name": "cpus", "type": "SCALAR", "scalar": {"value": 1.0}, **changes}
    bench.call(
        "ACCEPT",
        offer_ids=[bench.offers()[0]["id"]],
        operations=[
            {
                "type": "LAUNCH",
                "launch": {
                    "task_infos": [
                        {
                            **task("t", "true"),
                            "resources": [entry],
                            "agent_id": {"value": "M-S0"},
                        }
                    ]
                },
            }
        ],
    )
    assert "is more than available" in bench.updates("t")[0]["message"]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\nb", "x" * 256])
def test_an_id_that_is_no_name_of_a_directory_is_refused(name):
    bench = Bench()
    bench.subscribe()
    bench.launch(task(name, "true"))
    assert bench.states(name) == ["TASK_ERROR"]
    bench.subscribe(framework(id={"value": name}), stream="bad")
    assert len(bench.events("ERROR", "bad")) == 1
