"""Constraints, and clusters whose agents meet some of them."""

from hypothesis import strategies as st

from tests.engines.mesos.offers import an_offer


def on(host, slots=1, **attributes):
    """An offer with room for so many tasks of one cpu."""
    return an_offer(f"offer-of-{host}", host, cpus=slots, host=host, **attributes)


fixed = ["rack:IS:r1", "hostname:LIKE:h[0-2]", "hostname:UNLIKE:h0", "rack:CLUSTER:r2"]


moving = ["hostname:UNIQUE", "rack:UNIQUE", "rack:CLUSTER", "hostname:CLUSTER"]


counting = ["rack:MAX_PER:2", "hostname:MAX_PER:2", "rack:GROUP_BY", "rack:GROUP_BY:2"]


some_constraints = st.lists(st.sampled_from([*fixed, *moving, *counting]), max_size=3, unique=True)


@st.composite
def clusters(draw, most=5):
    """Agents with room for a few tasks of one cpu, in a few racks; a host is in one rack."""
    racks = draw(st.lists(st.sampled_from(["r1", "r2", "r3", None]), max_size=most))
    return [
        on(f"h{i}", draw(st.integers(1, 3)), **({"rack": rack} if rack else {}))
        for i, rack in enumerate(racks)
    ]
