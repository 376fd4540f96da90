"""Quotas of roles, and what they say of a wait."""

import pytest

from tests.builders import workers
from tests.engines.mesos.run import Run
from tests.sentences import names
from tfmesos.config.job import Resources
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.api.json_values import NONSENSE
from tfmesos.engines.mesos.feasibility import ASK_AFTER
from tfmesos.engines.mesos.quotas import Quota, exceeded, parse


def role(name, limit=None, consumed=None):
    """As Mesos 1.11 tells of it."""
    quota = {"role": name, "guarantee": {}, "limit": limit or {}, "consumed": consumed or {}}
    return {"name": name, "weight": 1.0, "quota": quota, "frameworks": []}


ROLES = {"roles": [role("*"), role("tf", {"cpus": 4.0}, {"cpus": 3.0, "mem": 64.0}), role("x")]}


@pytest.mark.parametrize("of", ["tf", "tf/prod", "tf/prod/a"])
def test_the_quota_of_a_role_is_that_of_all_roles_below_it(of):
    (quota,) = parse(ROLES, of)
    assert (quota.role, quota.limits) == ("tf", (("cpus", 4000),))
    assert quota.used == Resources.of(3, 64)


@pytest.mark.parametrize("of", ["*", "x", "tfx", "prod/tf"])
def test_other_roles_have_no_quota(of):
    assert parse(ROLES, of) == ()


def test_a_master_may_know_no_quotas():
    assert parse({"roles": [{"name": "tf"}]}, "tf") == ()
    with pytest.raises(NONSENSE):
        parse({"roles": [role("tf", {"cpus": "much"})]}, "tf")


def test_what_exceeds_a_quota_is_named_with_the_numbers():
    quota = Quota("tf", (("cpus", 4000), ("mem", 0)), Resources.of(3, 64))
    assert list(exceeded([quota], Resources.of(1))) == []
    (reason,) = exceeded([quota], Resources.of(1.5))
    assert all(word in reason for word in ("'tf'", "cpus 4", "3 in use", "quota"))
    assert len(list(exceeded([quota], Resources.of(2, 1)))) == 2


def test_a_wait_names_the_quota_that_it_is_for():
    run = Run(workers(2, cpus=1))
    run.subscribe()
    run.wait(ASK_AFTER)
    quota = Quota("tf", (("cpus", 1000),), Resources())
    run(mesos.AgentsCounted((), (), (quota,)))
    run.wait(1)
    assert names(run.state.summary(), "quota", "'tf'", "cpus 1")
