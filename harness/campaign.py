"""harness/campaign.py: many runs of one plan: executed by workers, stored one by one, taken up again where they stopped.

In     a plan, how many runs, how many workers, a store
Out    every run in the store, whole or marked; a `Summary` of each, as soon as it is known
Keeps  a number that is in the store is not run again, so the same command goes on after any interruption. The campaign's name
       carries the plan's digest: another plan is another campaign
Not    what a run is (harness/execute.py), who executes it and who replaces the dead (harness/pool.py, harness/spark_pool.py)
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from harness.execute import Summary, execute, mark, of_stored, plan_of_run
from harness.pool import Crew, Result, RunPool, run_pool
from harness.shared_store import announce, check_here, holds
from harness.worker import Work
from model import plan as plans
from model.identity import check_campaign_name, run_id
from model.leftovers import sweep
from model.plan import Plan
from model.plan_file import from_data
from model.refusal import InfrastructureFailure, Refusal
from model.store import RunExists, Store

SINGLE_RUNS = "runs"
DIGITS = 8
OnSummary = Callable[[Summary], None]


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker must know to execute any run of it."""

    store: str  # where every worker finds it: an absolute path, or a URI
    name: str
    plan: msgspec.Raw  # canonical JSON
    single: bool = False

    def plan_of(self, number: int) -> Plan:
        base = from_data(msgspec.json.decode(self.plan), self.name)
        return plan_of_run(base, self.name, number, single=self.single)

    def plan_to_mark(self, number: int) -> Plan:
        """For a run that could not be executed: even where its schedule could not be drawn."""
        try:
            return self.plan_of(number)
        except Exception:  # noqa: BLE001  whatever it is, its worker has met it too and told it
            base = from_data(msgspec.json.decode(self.plan), self.name)
            return plan_of_run(msgspec.structs.replace(base, schedule="none"), self.name, number, single=self.single)


def campaign_of(store: Store, name: str, plan: Plan) -> Campaign:
    """The campaign of this plan under this name: the same for the same plan, so that it can be taken up again."""
    full = check_campaign_name(f"{name}-{plans.digest(plan)[:DIGITS]}")
    return Campaign(store=_for_everybody(store), name=full, plan=msgspec.Raw(plans.to_json(plan)))


def single_run_of(store: Store, plan: Plan) -> tuple[Campaign, int]:
    """A run by itself gets the next free number among its like; what a dead one has left there is tidied away first."""
    sweep(store, SINGLE_RUNS)
    campaign = Campaign(store=_for_everybody(store), name=SINGLE_RUNS, plan=msgspec.Raw(plans.to_json(plan)), single=True)
    return campaign, _next_number(store, SINGLE_RUNS)


def _for_everybody(store: Store) -> str:
    return store.uri if store.local is None else str(store.local)


def _next_number(store: Store, campaign: str) -> int:
    return max((entry.number for entry in store.runs(campaign)), default=-1) + 1


def worker(setup: bytes) -> Work:
    """What runs in a worker process (harness/worker.py)."""
    campaign = msgspec.json.decode(setup, type=Campaign)
    store = Store(campaign.store)
    check_here(store, campaign.name)

    def work(number: int) -> bytes:
        return msgspec.json.encode(_executed(store, campaign, number))

    return work


def _executed(store: Store, campaign: Campaign, number: int) -> Summary:
    """Where somebody else was quicker: of a campaign it is the same run; a single run is another one, under the next number."""
    while True:
        try:
            if not campaign.single and holds(store, campaign.name, number):
                raise RunExists  # a worker stored it and could not say so any more
            return execute(store, campaign.name, number, campaign.plan_of(number))
        except RunExists:
            if not campaign.single:
                return of_stored(store.open(campaign.name, number))
            number = _next_number(store, campaign.name)


def run_campaign(
    store: Store, campaign: Campaign, numbers: range, jobs: int, on_summary: OnSummary, pool: RunPool = run_pool
) -> int:
    """Execute what is missing among these numbers. How many were there already; they are told first.

    A refusal is raised before any worker is started; Ctrl-C lets the running ones finish.
    """
    sweep(store, campaign.name)
    known = set() if campaign.single else {entry.number for entry in store.runs(campaign.name)}
    first = campaign.plan_of(numbers.start)
    for number in (number for number in numbers if number in known):
        on_summary(of_stored(store.open(campaign.name, number)))

    announce(store, campaign.name)

    def on_result(number: int, result: Result) -> None:
        if result.status == "done":
            summary = msgspec.json.decode(result.data, type=Summary)
            _refuse_another_store(store, campaign.name, summary.number)
            on_summary(summary)
        else:
            on_summary(mark(store, campaign.name, number, campaign.plan_to_mark(number), _why(result)))

    crew = Crew(
        name=campaign.name,
        work="harness.campaign:worker",
        setup=msgspec.json.encode(campaign),
        jobs=jobs,
        limit_s=limit_s(first),
    )
    pool(crew, (number for number in numbers if number not in known), on_result)
    return len(known & set(numbers))


def _refuse_another_store(store: Store, campaign: str, number: int) -> None:
    if not holds(store, campaign, number):
        said = f"the run {run_id(campaign, number)} was executed, and is not in {store.uri}"
        raise InfrastructureFailure(f"{said}: does this path lead to one directory on every worker?")


def _why(result: Result) -> str:
    last = result.details.strip().splitlines()[-3:]
    return result.reason if not last or result.status == "failed" else f"{result.reason}: {' / '.join(last)}"


def limit_s(plan: Plan) -> float:
    """After this long a simulated run hangs: a hundred times what one of its length takes."""
    return 60 + 2 * plan.for_ns / 10**9


def find_run(path: str) -> tuple[Store, str, int]:
    """`STORE/campaign/number`, as every message of ours writes it."""
    store, _, rest = path.rstrip("/").rpartition("/")
    base, slash, campaign = store.rpartition("/")
    if not (rest.isascii() and rest.isdecimal()) or not campaign:
        raise Refusal(f"not a run: {path!r}", allowed="STORE/campaign/number, such as store/nightly/00412")
    return Store(base or slash or "."), campaign, int(rest)
