"""A campaign counts what is in its store, whoever executed it and wherever."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from harness import campaign as campaigns
from harness.campaign import Campaign, by_workers, campaign_of, run_campaign, worker
from harness.execute import Summary
from harness.pool import Crew, OnResult, Result
from harness.shared_store import announce
from model.plan import Plan
from model.refusal import InfrastructureFailure
from model.store import Store

SHORT = Plan(tidemark=1, for_ns=10**9, schedule="none")


class InThisProcess:
    """A pool without processes, which may be told to forget what it has done, or to work elsewhere."""

    def __init__(self, *, forgets: int | None = None, elsewhere: str | None = None) -> None:
        self._forgets, self._elsewhere = forgets, elsewhere

    def __call__(self, crew: Crew, tasks: Iterable[int], on_result: OnResult) -> None:
        campaign = msgspec.json.decode(crew.setup, type=Campaign)
        if self._elsewhere is not None:
            campaign = msgspec.structs.replace(campaign, store=self._elsewhere)
            announce(Store(self._elsewhere), campaign.name)
        work = worker(msgspec.json.encode(campaign))
        for number in tasks:
            if number == self._forgets:
                work(number)
            on_result(number, Result("done", data=work(number)))


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of all simulations."""
    numbers: list[int] = []
    execute = campaigns.execute

    def counted(store: Store, campaign: str, number: int, plan: Plan) -> Summary:
        numbers.append(number)
        return execute(store, campaign, number, plan)

    monkeypatch.setattr(campaigns, "execute", counted)
    return numbers


def test_a_run_that_was_stored_and_not_told_is_found_and_not_executed_again(tmp_path: Path, executed: list[int]) -> None:
    """Its executor was killed between the two. What is told of it is what is stored."""
    store, seen = Store(tmp_path), list[Summary]()
    campaign = campaign_of(store, "night", SHORT)
    run_campaign(store, campaign, range(3), by_workers(store, campaign, 1, InThisProcess(forgets=1)), seen.append)
    assert executed == [0, 1, 2]
    assert [summary.number for summary in seen] == [0, 1, 2]
    assert seen[1].digest == store.record(campaign.name, 1).trace_digest


def test_a_run_that_went_into_another_store_does_not_count(tmp_path: Path) -> None:
    """A path that leads elsewhere on a worker: the campaign ends before it loses more of them."""
    store, seen = Store(tmp_path / "ours"), list[Summary]()
    campaign = campaign_of(store, "night", SHORT)
    with pytest.raises(InfrastructureFailure, match=f"{campaign.name}/00000 was executed, and is not in {tmp_path}/ours"):
        pool = InThisProcess(elsewhere=str(tmp_path / "theirs"))
        run_campaign(store, campaign, range(3), by_workers(store, campaign, 1, pool), seen.append)
    assert seen == []


def test_workers_are_told_a_path_that_does_not_depend_on_where_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--store store` is a directory below here, and nowhere else."""
    monkeypatch.chdir(tmp_path)
    assert campaign_of(Store("store"), "night", SHORT).store == f"{tmp_path}/store"
    assert campaign_of(Store(f"file://{tmp_path}/store"), "night", SHORT).store == f"{tmp_path}/store"
