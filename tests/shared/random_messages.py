"""Messages of any content, for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**64), 2**64)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
MESSAGES = st.dictionaries(st.text(), VALUES, max_size=4).map(lambda m: {**m, "type": "x"})
