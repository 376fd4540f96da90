"""Placement constraints: how they are written, and what they say of a node."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.sentences import begins
from tfmesos.config.constraints import OPERATORS, Node, parse, parse_for_job
from tfmesos.config.jobs import constrained
from tfmesos.errors import SpecError

NODE = Node("node-1", {"rack": "r1", "weight": "2", "slots": "[1-3,7-9]", "kinds": "{a,b}"})


@pytest.mark.parametrize(
    "text, admitted",
    [
        ("hostname:UNIQUE", True),
        ("hostname:IS:node-1", True),
        ("hostname:IS:node-2", False),
        ("hostname:LIKE:node-[12]", True),
        ("hostname:LIKE:node", False),  # the whole name must match
        ("hostname:UNLIKE:node-[23]", True),
        ("hostname:UNLIKE:node-.*", False),
        ("rack:IS:r1", True),
        ("rack:CLUSTER:r1", True),
        ("rack:CLUSTER:r2", False),
        ("rack:CLUSTER", True),
        ("weight:IS:2.0", True),
        ("weight:LIKE:2", True),
        ("slots:IS:[1-3, 7-9]", True),
        ("slots:LIKE:.*7-9.*", True),
        ("kinds:IS:{a,b}", True),
        ("kinds:LIKE:.*b.*", True),
        ("zone:IS:z", False),  # no such attribute
        ("zone:LIKE:.*", False),
        ("zone:UNLIKE:z", True),
        ("zone:UNIQUE", False),
        ("zone:MAX_PER:2", False),
        ("zone:GROUP_BY", False),
        ("zone:CLUSTER", False),
    ],
)
def test_a_node_is_admitted_or_not(text, admitted):
    assert parse(text).admits(NODE) is admitted


WRONG = [
    ("hostname", "must be FIELD:OPERATOR[:VALUE], ... got 'hostname'"),
    (":UNIQUE", "must be FIELD:OPERATOR[:VALUE]"),
    (
        "hostname:UNIQ",
        "has ... 'UNIQ' in 'hostname:UNIQ': ... UNIQUE, CLUSTER, GROUP_BY, MAX_PER, IS, LIKE",
    ),
    ("hostname:UNIQUE:3", "'hostname:UNIQUE:3' ... UNIQUE takes none"),
    ("rack:IS", "'rack:IS' needs a value after IS:"),
    ("rack:LIKE:", "'rack:LIKE:' needs a value after LIKE:"),
    ("rack:LIKE:(", "'rack:LIKE:(' ... regular expression: missing )"),
    ("rack:MAX_PER", "'rack:MAX_PER' needs a value after MAX_PER:"),
    ("rack:MAX_PER:x", "'rack:MAX_PER:x' ... whole number above 0 ... MAX_PER:"),
    ("rack:MAX_PER:0", "'rack:MAX_PER:0' ... whole number above 0"),
    ("rack:GROUP_BY:-1", "'rack:GROUP_BY:-1' ... whole number above 0"),
    ("rack:GROUP_BY:1.5", "'rack:GROUP_BY:1.5' ... whole number above 0"),
    (3, "must be a string ... hostname:UNIQUE, got 3"),
]


@pytest.mark.parametrize("text, problem", WRONG)
def test_a_constraint_that_makes_no_sense_says_why(text, problem):
    assert begins(problem_of(text), f"constraints {problem}")


def problem_of(text):
    with pytest.raises(SpecError) as caught:
        parse_for_job(text)
    return str(caught.value)


@pytest.mark.parametrize("pattern", ["a{99999999999999999999}", "(" * 5000 + ")" * 5000])
def test_a_pattern_beyond_all_bounds_is_a_bad_one(pattern):
    with pytest.raises(SpecError, match="invalid regular expression"):
        parse(f"rack:LIKE:{pattern}")


@given(
    st.builds(
        "{}:{}:{}".format,
        st.text(max_size=3),
        st.sampled_from([*OPERATORS, "x"]),
        st.text("()[]{}?*+|\\^$-,.019ab", max_size=8) | st.text(max_size=8),
    )
)
def test_any_text_is_a_constraint_or_a_clear_refusal(text):
    try:
        _, constraint = parse_for_job(text)
    except SpecError:
        return
    assert constraint.admits(Node("h", {constraint.field: "2"})) in (True, False)
    limit = constraint.limit(7)
    assert limit is None or limit >= 1


def test_values_may_hold_colons_and_operators_small_letters():
    assert str(parse("rack:like:a:b")) == "rack:LIKE:a:b"


def test_constraints_of_the_run_go_to_the_job_that_is_named_or_to_each():
    jobs = constrained(
        [workers(1, constraints=["rack:IS:r1"]), servers(1)],
        ["hostname:UNIQUE", "ps=rack:UNIQUE"],
    )
    assert [[str(c) for c in job.constraints] for job in jobs] == [
        ["rack:IS:r1", "hostname:UNIQUE"],
        ["hostname:UNIQUE", "rack:UNIQUE"],
    ]


def test_a_job_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(SpecError, match=r"not in this run: 'boss' .*\(its jobs: worker\)"):
        constrained([workers(1)], ["boss=hostname:UNIQUE"])


def test_a_job_names_itself_when_its_constraint_is_wrong():
    with pytest.raises(SpecError, match="job 'worker': constraints has the unknown operator"):
        workers(1, constraints=["hostname:ODD"])
    with pytest.raises(SpecError, match="must be a list of strings"):
        workers(1, constraints="hostname:UNIQUE")
