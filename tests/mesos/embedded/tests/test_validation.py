"""What the embedded master refuses, word for word."""

import pytest

from tests.mesos.embedded.entities import Offer
from tests.mesos.embedded.resources import from_json
from tests.mesos.embedded.validation import (
    framework_problem,
    id_problem,
    offers_problem,
    task_problem,
)

MULTI_ROLE = {"capabilities": [{"type": "GPU_RESOURCES"}, {"type": "MULTI_ROLE"}]}


def scalar(name, value):
    return {"name": name, "type": "SCALAR", "scalar": {"value": value}}


ROOM = from_json([scalar("cpus", 2), scalar("mem", 64)])


@pytest.mark.parametrize(
    "info",
    [
        {},
        {"role": "a/b.c"},
        {"role": "*"},
        {"id": {"value": "f-1"}},
        {**MULTI_ROLE},
        {**MULTI_ROLE, "roles": ["a", "b"]},
        {**MULTI_ROLE, "roles": []},
        {"capabilities": [{"type": "GPU_RESOURCES"}, {}], "role": "a"},
    ],
)
def test_a_framework_that_is_right_is_taken(info):
    assert framework_problem(info) is None


@pytest.mark.parametrize(
    "info, problem",
    [
        (
            {"roles": ["a"]},
            "'FrameworkInfo.roles' must not be set when the framework is not MULTI_ROLE capable",
        ),
        (
            {**MULTI_ROLE, "role": "a"},
            "'FrameworkInfo.role' must not be set when the framework is MULTI_ROLE capable",
        ),
        (
            {**MULTI_ROLE, "roles": ["b", "a", "c", "b", "a"]},
            "'FrameworkInfo.roles' contains duplicate items: { a, b }",
        ),
        (
            {**MULTI_ROLE, "roles": ["a", "-b"]},
            "'FrameworkInfo.roles' contains invalid role: "
            "Role component '-b' is invalid because it begins with a dash",
        ),
        (
            {"role": "a/"},
            "'FrameworkInfo.role' contains invalid role: "
            "Role component '' is invalid because it is empty",
        ),
        (
            {"role": "a/."},
            "'FrameworkInfo.role' contains invalid role: Role component '.' is invalid",
        ),
        (
            {"role": ".."},
            "'FrameworkInfo.role' contains invalid role: Role component '..' is invalid",
        ),
        *(
            (
                {"role": f"a{blank}"},
                "'FrameworkInfo.role' contains invalid role: "
                f"Role component 'a{blank}' is invalid because it contains backspace or whitespace",
            )
            for blank in "\b\t "
        ),
        ({"id": {"value": ""}}, "ID must not be empty"),
        ({"id": {"value": "a/b"}}, "'a/b' contains invalid characters"),
    ],
)
def test_a_framework_that_is_wrong_is_told_why(info, problem):
    assert framework_problem(info) == problem


@pytest.mark.parametrize("value", ["a", "...", "a b", "~", "x" * 255, "é" * 127])
def test_an_id_may_be_a_name_of_a_directory(value):
    assert id_problem(value) is None


@pytest.mark.parametrize(
    "value, problem",
    [
        ("", "ID must not be empty"),
        ("x" * 256, "ID must not be greater than 255 characters"),
        ("é" * 128, "ID must not be greater than 255 characters"),
        (".", "'.' is disallowed"),
        ("..", "'..' is disallowed"),
        *((f"a{c}", f"'a{c}' contains invalid characters") for c in "/\\\x00\x1f\x7f"),
    ],
)
def test_an_id_that_is_none_is_told_why(value, problem):
    assert id_problem(value) == problem


def an_offer(id, agent="S0", role="*"):
    return Offer(id, "f-1", agent, role, ROOM)


MINE = {
    offer.id: offer
    for offer in (an_offer("o1"), an_offer("o2"), an_offer("o3", "S1"), an_offer("o4", role="a"))
}


@pytest.mark.parametrize(
    "ids, problem",
    [
        (["o1"], None),
        (["o1", "o2"], None),
        ([], "No offers specified"),
        (["o1", "o2", "o1"], "Duplicate offer o1 in offer list"),
        (["o1", "gone"], "Offer gone is no longer valid"),
        (["gone", "gone"], "Duplicate offer gone in offer list"),
        (
            ["o1", "o2", "o3"],
            "Aggregated offers must belong to one single agent. "
            "Offer o3 uses agent S1 and agent S0",
        ),
        (
            ["o1", "o4"],
            "Aggregated offers must be allocated to the same role. "
            "Offer o4 uses role 'a but another is using role '*",
        ),
    ],
)
def test_offers_are_accepted_together_if_they_are_ours_and_of_one_agent_and_role(ids, problem):
    assert offers_problem(ids, MINE) == problem


def a_task(id="t", agent="S0", resources=None, **fields):
    resources = [scalar("cpus", 1)] if resources is None else resources
    kind = fields or {"command": {"value": "true"}}
    ids = {"task_id": {"value": id}, "agent_id": {"value": agent}}
    return {**ids, "resources": resources, **kind}


BOTH = "Task should have at least one (but not both) of CommandInfo or ExecutorInfo present"
SPLIT_GPU = (
    "Task uses invalid resources: "
    "Invalid 'gpus' resource: The 'gpus' resource must be an unsigned integer"
)


@pytest.mark.parametrize(
    "info, problem",
    [
        (a_task(), None),
        (a_task(resources=[scalar("cpus", 2), scalar("mem", 64)]), None),
        (a_task(resources=[scalar("cpus", 1), scalar("disk", 0)]), None),
        (a_task(""), "ID must not be empty"),
        (a_task("taken"), "Task has duplicate ID: taken"),
        (a_task(agent="S1"), "Task uses invalid agent S1 while agent S0 is expected"),
        (a_task(nothing=1), BOTH),
        (a_task(command={}, executor={}), BOTH),
        (
            a_task(executor={}),
            "The embedded Mesos runs tasks with a CommandInfo only, not with an ExecutorInfo",
        ),
        (a_task(resources=[]), "Task uses no resources"),
        (
            a_task(resources=[scalar("mem", 1), scalar("cpus", -0.5)]),
            "Resource 'cpus:-0.5' is invalid: Invalid scalar resource: value <= 0",
        ),
        (a_task(resources=[scalar("gpus", 1.5)]), SPLIT_GPU),
        (
            a_task(resources=[scalar("gpus", 1)]),
            "Total resources gpus(allocated: *):1 required by task and its executor "
            "is more than available cpus(allocated: *):2; mem(allocated: *):64",
        ),
        (
            a_task(resources=[scalar("cpus", 1.5), scalar("cpus", 1)]),
            "Total resources cpus(allocated: *):2.5 required by task and its executor "
            "is more than available cpus(allocated: *):2; mem(allocated: *):64",
        ),
    ],
)
def test_a_task_is_launched_if_it_is_right_and_there_is_room(info, problem):
    assert task_problem(info, "S0", "*", ROOM, {"taken"}) == problem


def test_a_task_that_names_no_resources_at_all_uses_none():
    info = a_task()
    del info["resources"]
    assert task_problem(info, "S0", "*", ROOM, ()) == "Task uses no resources"


def test_what_is_lacking_is_told_in_the_role_of_the_offer():
    of_a = {**scalar("cpus", 3), "allocation_info": {"role": "a"}}
    assert task_problem(a_task(resources=[of_a]), "S0", "a", ROOM, ()) == (
        "Total resources cpus(allocated: a):3 required by task and its executor "
        "is more than available cpus(allocated: a):2; mem(allocated: a):64"
    )


def test_what_is_allocated_to_another_role_says_so_once():
    of_a = {**scalar("cpus", 1), "allocation_info": {"role": "a"}}
    assert task_problem(a_task(resources=[of_a]), "S0", "*", ROOM, ()) == (
        "Total resources cpus(allocated: a):1 required by task and its executor "
        "is more than available cpus(allocated: *):2; mem(allocated: *):64"
    )


def test_ports_are_resources_too():
    ports = {
        "name": "ports",
        "type": "RANGES",
        "ranges": {"range": [{"begin": 31000, "end": 31001}]},
    }
    assert task_problem(a_task(resources=[ports]), "S0", "*", ROOM, ()) == (
        "Total resources ports(allocated: *):[31000-31001] required by task and its executor "
        "is more than available cpus(allocated: *):2; mem(allocated: *):64"
    )
