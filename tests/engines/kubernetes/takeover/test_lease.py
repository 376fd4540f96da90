"""One launcher holds a run on Kubernetes, on whatever machine it is."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tfmesos.engines.kubernetes.takeover import lease
from tfmesos.engines.kubernetes.takeover.lease import Holder

NOW = datetime(2026, 11, 17, 2, 0, 0)
FIRST, SECOND = Holder(1, "aa", "login-1 (pid 7)"), Holder(2, "bb", "login-2 (pid 8)")


def owner(holder=FIRST, renewed=0, **metadata):
    """Its holder gave its last sign of life *renewed* seconds ago."""
    at = (NOW - timedelta(seconds=renewed)).strftime("%Y-%m-%dT%H:%M:%SZ")
    annotations = {"tfmesos/renewed": at, "tfmesos/holder": str(holder)}
    return {"metadata": {"annotations": annotations, **metadata}}


def test_a_holder_is_read_as_it_was_written():
    assert str(FIRST) == "1 aa login-1 (pid 7)"
    assert lease.holder_of(owner()) == FIRST


@pytest.mark.parametrize("text", ["", "1", "x aa here", "-1 aa here", None])
def test_what_names_no_holder_has_none(text):
    assert lease.holder_of({"metadata": {"annotations": {"tfmesos/holder": text}}}) is None
    assert lease.holder_of({}) is None


@pytest.mark.parametrize(("renewed", "fresh"), [(0, True), (59, True), (60, False), (3600, False)])
def test_a_holder_counts_as_gone_when_it_has_been_silent_for_a_minute(renewed, fresh):
    assert lease.is_fresh(owner(renewed=renewed), (), NOW) is fresh


def test_nobody_waits_for_a_holder_that_is_known_to_have_ended():
    assert lease.is_fresh(owner(FIRST), (2, 3), NOW)
    assert not lease.is_fresh(owner(FIRST), (1,), NOW)


def test_an_owner_of_nobody_can_be_taken_at_once():
    assert not lease.is_fresh({"metadata": {"creationTimestamp": "2026-11-17T02:00:00Z"}}, (), NOW)
    assert not lease.is_fresh({"metadata": {"annotations": {"tfmesos/holder": "1 aa x"}}}, (), NOW)


def test_an_owner_that_was_never_renewed_is_as_fresh_as_it_is_young():
    young = {"metadata": {"creationTimestamp": "2026-11-17T01:59:30Z"}}
    young["metadata"]["annotations"] = {"tfmesos/holder": str(FIRST)}
    assert lease.is_fresh(young, (), NOW)
    assert not lease.is_fresh(young, (), NOW + timedelta(seconds=31))


def test_an_old_copy_of_a_run_directory_knows_of_a_later_launcher_and_of_one_beside_it():
    third, beside = Holder(3, "cc", "c"), Holder(2, "dd", "d")
    assert lease.successor(owner(third), SECOND) == third
    assert lease.successor(owner(beside), SECOND) == beside
    assert lease.successor(owner(FIRST), SECOND) is None  # we follow that one
    assert lease.successor(owner(SECOND), SECOND) is None  # these are we
    assert lease.successor({}, SECOND) is None
