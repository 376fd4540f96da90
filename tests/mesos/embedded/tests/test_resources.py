"""Exact arithmetic on resources, and the two notations of mesos-agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.mesos.embedded import AgentConfig
from tests.mesos.embedded.resources import Resources, from_json, parse, parse_attributes
from tfmesos.errors import SpecError


def test_the_notation_of_mesos_is_read():
    found = parse("cpus:8; mem:16384;gpus:2;ports:[31000-31001, 31003-31004];gpu_ids:{b,a}")
    assert found.text("*") == (
        "cpus(allocated: *):8; mem(allocated: *):16384; gpus(allocated: *):2; "
        "ports(allocated: *):[31000-31001, 31003-31004]; gpu_ids(allocated: *):{a, b}"
    )


@pytest.mark.parametrize(
    "text, why",
    [
        ("x", "'x' is not NAME:AMOUNT"),
        ("cpus:many;mem:1", "cpus:many is neither a number"),
        ("cpus:1", "mem is missing"),
        ("cpus:1;mem:100;gpus:0.5", "gpus must be a whole number"),
        ("cpus:1;mem:100;ports:[1-]", "is neither a number"),
        ("cpus:-1;mem:100", "is neither a number"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused_with_the_reason_and_an_example(text, why):
    with pytest.raises(SpecError) as caught:
        AgentConfig("h", text)
    assert caught.value.field == "resources"
    assert why in str(caught.value) and "for example 'cpus:8" in str(caught.value)


def test_attributes_are_numbers_ranges_or_text():
    assert [a["type"] for a in parse_attributes("rack:r1;weight:2;span:[1-3]")] == [
        "TEXT",
        "SCALAR",
        "RANGES",
    ]
    with pytest.raises(SpecError, match="attributes 'rack' cannot be read"):
        AgentConfig("h", "cpus:1;mem:1", "rack")


def test_ten_tenths_are_one():
    tenth = from_json([{"name": "cpus", "type": "SCALAR", "scalar": {"value": 0.1}}])
    rest = parse("cpus:1;mem:1")
    for _ in range(10):
        assert rest.covers(tenth)
        rest = rest - tenth
    assert rest.scalar("cpus") == 0 and not rest.covers(tenth)


def test_a_scalar_does_not_match_a_set_of_the_same_name():
    assert not parse("cpus:1;mem:1;gpus:{a}").covers(parse("cpus:1;mem:1;gpus:1"))


def ranges(name="ports"):
    pair = st.tuples(st.integers(1, 60), st.integers(0, 9))
    return st.lists(pair, max_size=4).map(
        lambda pairs: from_json(
            [
                {
                    "name": name,
                    "type": "RANGES",
                    "ranges": {"range": [{"begin": b, "end": b + n} for b, n in pairs]},
                }
            ]
        )
    )


def ports(found: Resources) -> set[int]:
    entries = [entry["ranges"]["range"] for entry in found.to_json({})]
    return {p for listed in entries for r in listed for p in range(r["begin"], r["end"] + 1)}


@given(ranges(), ranges())
def test_ranges_behave_as_the_sets_they_stand_for(one, other):
    assert ports(one + other) == ports(one) | ports(other)
    assert ports(one - other) == ports(one) - ports(other)
    assert one.covers(other) == (ports(other) <= ports(one))
