"""What the master offers to whom."""

from __future__ import annotations

from tests.mesos.embedded import Timing
from tests.mesos.embedded.resources import Resources

from .master_state import Bench, cpus
from .wire import framework, task


def test_a_declined_offer_comes_back_after_5_seconds():
    bench = Bench()
    bench.subscribe()
    bench.call("DECLINE", offer_ids=[bench.offers()[0]["id"]])
    bench.wait(4.9)
    assert len(bench.offers()) == 1
    bench.wait(0.2)
    assert len(bench.offers()) == 2


def test_what_is_refused_for_no_time_comes_back_after_the_allocation_interval():
    bench = Bench(timing=Timing(allocation_interval=0.1))
    bench.subscribe()
    bench.call("DECLINE", offer_ids=[bench.offers()[0]["id"]], filters={"refuse_seconds": 0})
    assert len(bench.offers()) == 1
    bench.wait(0.11)
    assert len(bench.offers()) == 2


def test_what_one_framework_declines_is_offered_to_the_other_at_once():
    bench = Bench()
    bench.subscribe(stream="one")
    bench.subscribe(stream="two")
    assert bench.offers("two") == []
    bench.call("DECLINE", offer_ids=[bench.offers("one")[0]["id"]])
    assert len(bench.offers("two")) == 1


def test_a_filter_does_not_hold_back_a_bigger_offer():
    bench = Bench()
    bench.subscribe()
    (one,) = bench.run(task("t", "true", cpus=1))
    bench.call("DECLINE", offer_ids=[bench.offers()[-1]["id"]], filters={"refuse_seconds": 3600})
    bench.end(one)
    assert [cpus(offer) for offer in bench.offers()] == [4.0, 3.0, 4.0]


def test_two_frameworks_share_two_agents():
    bench = Bench("cpus:4;mem:4096", "cpus:4;mem:4096")
    bench.subscribe(framework("MULTI_ROLE", roles=["*"]), stream="one", suppressed_roles=["*"])
    bench.subscribe(framework("MULTI_ROLE", roles=["*"]), stream="two", suppressed_roles=["*"])
    bench.state.frameworks["M-0000"].suppressed.clear()
    bench.call("REVIVE", "M-0001")
    assert (len(bench.offers("one")), len(bench.offers("two"))) == (1, 1)


def test_a_gpu_agent_is_hidden_from_those_who_cannot_use_gpus():
    bench = Bench("cpus:4;mem:4096;gpus:2", "cpus:4;mem:4096;gpus:{a,b}")
    bench.subscribe(framework("MULTI_ROLE"))
    assert [offer["hostname"] for offer in bench.offers()] == ["node-1"]


def test_what_an_allocation_takes_grows_with_the_agents_and_no_faster(monkeypatch):
    """Two frameworks that hold and refuse much, so that shares and filters count."""

    def additions(agents):
        bench = Bench(*["cpus:4;mem:4096"] * agents)
        bench.subscribe(stream="one")
        ids = [offer["id"] for offer in bench.offers("one")]
        bench.subscribe(stream="two")
        work = []
        with monkeypatch.context() as patch:
            for name in ("__add__", "covers"):
                counted = getattr(Resources, name)
                patch.setattr(Resources, name, lambda *both, f=counted: work.append(1) or f(*both))
            bench.call("DECLINE", offer_ids=ids)
        assert len(bench.offers("two")) == agents
        return len(work)

    assert additions(10) < additions(40) < 5 * additions(10)
