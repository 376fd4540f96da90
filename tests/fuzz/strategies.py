"""Json that is nearly right: recorded or made up, with a few of its parts changed."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from hypothesis import strategies as st

NUMBERS = st.one_of(
    st.integers(-3, 70_000),
    st.sampled_from([2**31, 2**63, 2**64, 10**400, -1, 0.1, 1e308, float("nan"), float("inf")]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, st.text(max_size=8))
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["value", "id", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=6,
)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) in *value*."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    for key in keys:
        yield value, key
        yield from _places(value[key])


@st.composite
def nearly(draw, samples: Sequence[Any], changes: int = 3) -> Any:
    """One of *samples* with up to so many parts replaced, removed or doubled."""
    value = [copy.deepcopy(draw(st.sampled_from(samples)))]
    for _ in range(draw(st.integers(0, changes))):
        _change(draw, value)
    return value[0] if value else None


def _change(draw: Any, value: list[Any]) -> None:
    places = list(_places(value))
    if not places:
        return
    container, key = places[draw(st.integers(0, len(places) - 1))]
    what = draw(st.sampled_from(["replace", "replace", "remove", "double", "swap"]))
    if what == "remove" and container is not value:
        del container[key]
    elif what == "double" and isinstance(container[key], list):
        container[key] = container[key] * 2
    elif what == "swap":
        other, name = places[draw(st.integers(0, len(places) - 1))]
        container[key] = copy.deepcopy(other[name])
    else:
        container[key] = draw(JSON)


@st.composite
def pieces(draw, data: st.SearchStrategy[bytes]) -> list[bytes]:
    """Bytes, cut anywhere."""
    whole = draw(data)
    cuts = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    return [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
