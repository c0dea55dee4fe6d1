"""harness/campaign.py: many runs of one plan, or of several in turn: stored one by one, taken up again where they stopped.

In     plans, the numbers of runs, a store, and whoever executes numbers: `by_workers`, or anything else that takes numbers and
       tells a `Summary` of each (`Execute`)
Out    every run in the store, whole or marked; a `Summary` of each, as soon as it is known
Keeps  run i is of plan i % their number: interrupted anywhere, a campaign has run all its plans equally often. A number that is
       in the store is not run again, so the same command goes on after any interruption. The campaign's name carries the digest
       of its plans: other plans are another campaign
Not    what a run is (harness/execute.py), who executes it and who replaces the dead (harness/pool.py, harness/spark_pool.py)
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

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
Execute = Callable[[Iterable[int], OnSummary], None]
"""Each number once, taken when somebody is free for it; KeyboardInterrupt once what was running is told or given up."""


class Campaign(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker must know to execute any run of it."""

    store: str  # where every worker finds it: an absolute path, or a URI
    name: str
    plans: tuple[msgspec.Raw, ...]  # canonical JSON
    single: bool = False

    def cell_of(self, number: int) -> int:
        """Which of the plans this run is of."""
        return number % len(self.plans)

    def plan_of(self, number: int) -> Plan:
        return plan_of_run(self._base(self.cell_of(number)), self.name, number, single=self.single)

    def plan_to_mark(self, number: int) -> Plan:
        """For a run that could not be executed: even where its schedule could not be drawn."""
        try:
            return self.plan_of(number)
        except Exception:  # noqa: BLE001  whatever it is, its worker has met it too and told it
            base = msgspec.structs.replace(self._base(self.cell_of(number)), schedule="none")
            return plan_of_run(base, self.name, number, single=self.single)

    def limit_s(self) -> float:
        """After this long a run of any of the plans hangs."""
        return max(limit_s(self._base(cell)) for cell in range(len(self.plans)))

    def _base(self, cell: int) -> Plan:
        return from_data(msgspec.json.decode(self.plans[cell]), self.name)


def campaign_of(store: Store, name: str, *of: Plan) -> Campaign:
    """The campaign of these plans under this name: the same for the same plans, so that it can be taken up again."""
    full = check_campaign_name(f"{name}-{_digest(of)[:DIGITS]}")
    return Campaign(store=_for_everybody(store), name=full, plans=tuple(msgspec.Raw(plans.to_json(plan)) for plan in of))


def _digest(of: Sequence[Plan]) -> str:
    """Of one plan its own."""
    each = [plans.digest(plan) for plan in of]
    return each[0] if len(each) == 1 else hashlib.sha256("\n".join(each).encode()).hexdigest()


def single_run_of(store: Store, plan: Plan) -> tuple[Campaign, int]:
    """A run by itself gets the next free number among its like; what a dead one has left there is tidied away first."""
    sweep(store, SINGLE_RUNS)
    campaign = Campaign(store=_for_everybody(store), name=SINGLE_RUNS, plans=(msgspec.Raw(plans.to_json(plan)),), single=True)
    return campaign, _next_number(store, SINGLE_RUNS)


def _for_everybody(store: Store) -> str:
    return store.uri if store.local is None else str(store.local)


def _next_number(store: Store, campaign: str) -> int:
    return max(store.numbers(campaign), default=-1) + 1


# -- in a worker process ------------------------------------------------------------------------------------------------


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


# -- outside ------------------------------------------------------------------------------------------------------------


def run_campaign(
    store: Store,
    campaign: Campaign,
    numbers: range,
    run: Execute,
    on_summary: OnSummary,
    on_stored: OnSummary | None = None,
) -> None:
    """Execute what is missing among these numbers. Those that are there are told first, to `on_stored` if there is one."""
    there = {} if campaign.single else dict.fromkeys(number for number in taken_up(store, campaign) if number in numbers)
    tell_stored(store, campaign, there, on_stored or on_summary)
    run((number for number in numbers if number not in there), on_summary)


def taken_up(store: Store, campaign: Campaign) -> list[int]:
    """The numbers that need not be run any more; what dead writers left is tidied away."""
    sweep(store, campaign.name)
    return store.numbers(campaign.name)


def tell_stored(
    store: Store, campaign: Campaign, numbers: Iterable[int], on_summary: OnSummary, *, with_faults: bool = True
) -> None:
    """A run that cannot be read is told as one that the machine failed: it hides no other."""
    for number in numbers:
        try:
            summary = of_stored(store.open(campaign.name, number), with_faults=with_faults)
        except Refusal as refusal:
            seed = campaign.plan_of(number).seed
            summary = Summary(number=number, seed=seed, status="infrastructure", valid=None, reason=str(refusal))
        on_summary(summary)


def by_workers(store: Store, campaign: Campaign, jobs: int, pool: RunPool = run_pool) -> Execute:
    """By worker processes, of this machine or of a Spark's. A run whose worker dies or hangs is marked; Ctrl-C lets the running
    ones finish."""
    crew = Crew(
        name=campaign.name,
        work="harness.campaign:worker",
        setup=msgspec.json.encode(campaign),
        jobs=jobs,
        limit_s=campaign.limit_s(),
    )

    def run(numbers: Iterable[int], on_summary: OnSummary) -> None:
        def on_result(number: int, result: Result) -> None:
            if result.status == "done":
                summary = msgspec.json.decode(result.data, type=Summary)
                _refuse_another_store(store, campaign.name, summary.number)
                on_summary(summary)
            else:
                on_summary(mark(store, campaign.name, number, campaign.plan_to_mark(number), _why(result)))

        announce(store, campaign.name)
        pool(crew, numbers, on_result)

    return run


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
