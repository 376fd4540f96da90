"""What the documentation of Mesos asks of a framework about offers, held in whatever happens."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import servers, workers
from tests.engines.mesos.histories import any_event
from tests.engines.mesos.offers import an_offer
from tests.engines.mesos.run import Run
from tests.replay import only
from tfmesos.config.restart_settings import RestartPolicy
from tfmesos.core import events as happened
from tfmesos.core.phases import Phase
from tfmesos.core.tasks import Stage
from tfmesos.engines.mesos import actions as calls
from tfmesos.engines.mesos import events as mesos
from tfmesos.engines.mesos.gang import AWAY, HOLD, LONG_REFUSAL


class Ledger:
    """What a master knows of us: whether we want offers, and which of its offers we hold."""

    def __init__(self, run):
        self._run, self._count = run, 0
        self.wants_offers, self.held = True, {}  # id -> since when
        self.declined = []

    def __call__(self, event):
        if isinstance(event, mesos.Subscribed | mesos.Disconnected):
            self.wants_offers, self.held = True, {}
        if isinstance(event, mesos.OffersReceived):
            event = mesos.OffersReceived(tuple(map(self._fresh, event.offers)))
            self.held |= {offer.id: self._run.now for offer in event.offers}
        for action in self._run(event):
            match action:
                case calls.Suppress():
                    self.wants_offers = False
                case calls.Revive():
                    self.wants_offers = True
                case calls.Launch():
                    self._give_back(action.offer_ids)
                case calls.Decline():
                    self._give_back(action.offer_ids)
                    self.declined.append(action)

    def _fresh(self, offer):
        self._count += 1
        return offer.replace(id=f"{offer.id}-{self._count}")

    def _give_back(self, offer_ids):
        for offer_id in offer_ids:
            del self.held[offer_id]  # fails if it is not ours, or not any more


def is_waiting(run):
    there = run.state.phase in (Phase.STARTING, Phase.RUNNING)
    return there and any(m.stage is Stage.WAITING for m in run.state.members)


policies = st.sampled_from([RestartPolicy(), RestartPolicy(3, "task"), RestartPolicy(3, "all")])
histories = st.lists(st.tuples(any_event, st.floats(0, 20)), max_size=40)


@settings(max_examples=300)
@given(histories, policies, st.booleans())
def test_offers_are_wanted_exactly_while_a_task_waits_for_a_place(history, policy, is_up):
    run = Run(workers(2), servers(2), restarts=policy)
    ledger = Ledger(run)
    ledger(mesos.Subscribed("f", "m"))
    if is_up:
        ledger(mesos.OffersReceived((an_offer(),)))
        run.register()
        run.ready()
    is_subscribed = True
    for event, pause in history:
        ledger(event)
        if isinstance(event, mesos.Subscribed | mesos.Disconnected):
            is_subscribed = isinstance(event, mesos.Subscribed)
        if run.state.phase is Phase.FINISHED:
            break
        if is_subscribed:
            assert ledger.wants_offers == is_waiting(run)
        run.now += pause


@settings(max_examples=300)
@given(histories, policies)
def test_every_offer_is_used_or_given_back_once_and_none_is_sat_upon(history, policy):
    run = Run(workers(2, cpus=3), servers(1, cpus=3), restarts=policy)
    ledger = Ledger(run)
    for event, _ in history:
        if isinstance(event, mesos.OfferRescinded):
            continue  # of these there are none left, under their new names
        ledger(event)
        while (due := run.deciders.deadline) is not None and due <= run.now:
            ledger(happened.Ticked())
        if run.state.phase is Phase.FINISHED:
            break
        assert not [since for since in ledger.held.values() if run.now - since > HOLD[1]]
        run.now += 1.0
    ledger(happened.StopRequested("stop", 130))
    assert ledger.held == {}


def test_useless_offers_are_refused_for_long_and_those_that_do_not_suffice_for_short():
    run = Run(workers(2, cpus=3))
    run.subscribe()
    run.offer(an_offer("small", cpus=1), an_offer("one", cpus=4))
    run.wait(HOLD[1])
    refused = {a.offer_ids: a.refuse_seconds for a in only(calls.Decline, run.log)}
    assert refused[("small",)] == LONG_REFUSAL
    assert AWAY[0] <= refused[("one",)] <= AWAY[1]
    run.wait(AWAY[1])
    todo = run.offer(*(an_offer(f"o{i}", cpus=4) for i in range(3)))
    assert only(calls.Decline, todo) == [calls.Decline(("o2",), LONG_REFUSAL, "no task is waiting")]


def test_nothing_is_asked_for_if_every_task_runs_beside_the_launcher():
    (task,) = workers(1).tasks
    run = Run(workers(1), local=(task, "id", "127.0.0.1:1"))
    assert calls.Suppress() in run.subscribe()


def test_nothing_is_asked_for_any_more_by_a_run_that_is_being_stopped():
    run = Run(workers(2))
    run.subscribe()
    run.offer()
    run.update("worker:0", "TASK_FAILED")  # and waits for a place again
    assert run.log[-1] == calls.Revive()
    assert calls.Suppress() in run(happened.StopRequested("stop", 130))
