"""Campaigns of one plan and of several: which run is of which plan, what they are called, what they do with what is there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from harness.campaign import Campaign, OnSummary, campaign_of, run_campaign
from harness.execute import Summary
from model.identity import run_seed
from model.plan import Plan, Workload
from model.refusal import Refusal
from model.run_record import FILE
from model.store import Store
from tests.harness.summaries import a_summary

PLANS = tuple(Plan(tidemark=1, seed=5, for_ns=10**9, workload=Workload(acks=acks), schedule="none") for acks in (-1, 1, 0))


def test_the_name_of_a_campaign_of_one_plan_has_not_changed(tmp_path: Path) -> None:
    """Else the campaigns in everybody's stores could not be taken up again: it ends with the plan's own digest."""
    assert campaign_of(Store(tmp_path), "default", Plan(tidemark=1)).name == "default-0e580c0a"


def test_the_name_carries_all_plans_and_their_order(tmp_path: Path) -> None:
    """Run i of another order would be of another plan."""
    store = Store(tmp_path)
    names = [campaign_of(store, "m", *plans).name for plans in (PLANS, PLANS[:2], PLANS[:1], PLANS[::-1], PLANS)]
    assert len(set(names)) == 4
    assert names[0] == names[-1]


def test_run_i_is_of_plan_i_modulo_their_number(tmp_path: Path) -> None:
    """Whatever was interrupted has covered all plans evenly; number and seed are those of every campaign (DESIGN 11.5)."""
    campaign = campaign_of(Store(tmp_path), "m", *PLANS)
    for number in range(7):
        plan = campaign.plan_of(number)
        assert plan.workload.acks == PLANS[number % 3].workload.acks
        assert plan.seed == run_seed(5, number)
    assert [campaign.cell_of(number) for number in range(7)] == [0, 1, 2, 0, 1, 2, 0]


def test_a_campaign_of_several_plans_reaches_its_workers_whole(tmp_path: Path) -> None:
    """As JSON, like everything that passes between processes."""
    campaign = campaign_of(Store(tmp_path), "m", *PLANS)
    again = msgspec.json.decode(msgspec.json.encode(campaign), type=Campaign)
    assert [again.plan_of(number) for number in range(3)] == [campaign.plan_of(number) for number in range(3)]


def test_the_limit_of_a_run_is_that_of_the_longest_plan(tmp_path: Path) -> None:
    """A worker is told one limit for all its tasks."""
    longer = msgspec.structs.replace(PLANS[0], for_ns=100 * 10**9)
    assert campaign_of(Store(tmp_path), "m", PLANS[0], longer).limit_s() == 260


class Recorder:
    """Executes nothing: it notes which numbers it was handed, and stores those runs as marked ones."""

    def __init__(self, store: Store, campaign: Campaign) -> None:
        self.store, self.campaign = store, campaign
        self.numbers: list[int] = []

    def __call__(self, numbers: Iterable[int], on_summary: OnSummary) -> None:
        for number in numbers:
            self.numbers.append(number)
            with self.store.begin(self.campaign.name, number, self.campaign.plan_of(number)) as writer:
                writer.finish("infrastructure", None, "nobody executed it")
            on_summary(a_summary(number))


@pytest.fixture
def campaign(tmp_path: Path) -> tuple[Store, Campaign]:
    store = Store(tmp_path)
    return store, campaign_of(store, "m", *PLANS)


def test_who_executes_gets_the_missing_numbers_and_nobody_else_is_asked(campaign: tuple[Store, Campaign]) -> None:
    """Any function of numbers and a listener will do; what is there is told first, to whom it may concern."""
    execute = Recorder(*campaign)
    run_campaign(*campaign, range(2), execute, lambda _: None)
    stored: list[Summary] = []
    told: list[Summary] = []
    run_campaign(*campaign, range(5), execute, told.append, stored.append)
    assert execute.numbers == [0, 1, 2, 3, 4]
    assert [each.number for each in stored] == [0, 1]
    assert [each.number for each in told] == [2, 3, 4]


def test_a_stored_run_that_cannot_be_read_hides_no_other(campaign: tuple[Store, Campaign], tmp_path: Path) -> None:
    """It is told as the machine's failure, with the reason, and not run again: its number is taken."""
    execute = Recorder(*campaign)
    run_campaign(*campaign, range(3), execute, lambda _: None)
    (tmp_path / campaign[1].name / "runs" / "00001" / FILE).write_text("{")
    told: list[Summary] = []
    run_campaign(*campaign, range(3), execute, told.append)
    assert [each.number for each in told] == [0, 1, 2]
    assert told[1].status == "infrastructure"
    assert "not a run record" in told[1].reason
    assert told[1].seed == run_seed(5, 1)
    assert execute.numbers == [0, 1, 2]


def test_a_name_that_no_directory_can_have_is_refused(tmp_path: Path) -> None:
    """It comes from the name of a file."""
    with pytest.raises(Refusal, match="not a campaign name"):
        campaign_of(Store(tmp_path), "my plan", PLANS[0])
