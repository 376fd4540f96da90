"""The keys of a run know which of its launchers have ended."""

from __future__ import annotations

from tfmesos.launcher.keys import Keys


def test_launchers_that_have_ended_are_kept_by_their_epochs():
    written = []
    keys = Keys(epoch=3, on_change=lambda values: written.append(values["gone"]))
    assert keys.gone == []
    keys.ended(1)
    keys.ended(2)
    keys.ended(1)
    assert sorted(keys.gone) == [1, 2]
    assert sorted(Keys(keys.values, 4).gone) == [1, 2]
    assert [sorted(text.split()) for text in written] == [["1"], ["1", "2"]]
