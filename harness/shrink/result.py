"""harness/shrink/result.py: what a search leaves behind: a run that replays, and two plan files.

In     the best plan that was found, the run that it comes from
Out    a run of the campaign `shrunk`; beside its runs the plan for people, and the plan as it was
Keeps  nothing is kept before the plan was executed twice more, with the same digest and signature, and once as `tidemark run`
       would execute its file, with the same signature
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from checkers.rule_words import because
from checkers.signature import short_name
from harness.execute import Summary, execute
from harness.findings import Finding
from harness.shrink.known import Known
from harness.shrink.trial import tried
from harness.shrink.written import plan_text
from model import document, plan_file
from model.files import LocalFiles, make_directories, write_durably
from model.identity import run_tag, written_number
from model.leftovers import sweep
from model.plan import Plan
from model.quantity import write_duration
from model.refusal import InfrastructureFailure
from model.store import RunExists, Store

SHRUNK = "shrunk"
ANOTHER_TAG = run_tag("runs", 0)
"""Every run of a plan file has a tag of its own; nothing may hang on it."""


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What is known when the search is over."""

    source: str  # STORE/campaign/number
    wanted: str
    start: Known
    best: Known
    trials: int


class Shrunk(msgspec.Struct, frozen=True, kw_only=True):
    """Where it lies, and what it says."""

    run: str
    plan: str
    original: str
    text: str
    finding: Finding
    digest: str


def keep(store: Store, found: Found) -> Shrunk:
    """Be sure of it, store it, write it."""
    digest = _digest_of_both(found)
    _file_fails_alike(found)
    summary = _stored(store, found.best.plan)
    finding = next((each for each in summary.findings if each.signature == found.wanted), None)
    if finding is None or summary.digest != digest:
        raise InfrastructureFailure(f"stored, the shrunk run was another one: digest {summary.digest} after {digest}")
    number = written_number(summary.number)
    run = f"{store.uri}/{SHRUNK}/{number}"
    text = plan_text(found.best.plan, found.best.fates, _about(found, finding, run))
    before = plan_text(
        found.start.plan, found.start.fates, [f"The plan of {found.source}, before it was shrunk to {number}.yaml."]
    )
    plan, original = _written(store, number, text, before)
    return Shrunk(run=run, plan=str(plan), original=str(original), text=text, finding=finding, digest=digest)


def _digest_of_both(found: Found) -> str:
    """Of two more executions of the plan that won."""
    one, other = (tried(found.best.plan) for _ in range(2))
    if one.digest is None or one.digest != other.digest or found.wanted not in one.signatures:
        raise InfrastructureFailure(f"the shrunk run does not repeat: digest {other.digest} after {one.digest}")
    return one.digest


def _file_fails_alike(found: Found) -> None:
    """Read as `tidemark run` reads it, and executed under another tag."""
    plan = plan_file.read_plan(document.parse(plan_text(found.best.plan, (), ()), "the shrunk plan"))
    if found.wanted not in tried(msgspec.structs.replace(plan, tag=ANOTHER_TAG)).signatures:
        raise InfrastructureFailure(f"the file of the shrunk plan would not fail as its run does: {found.wanted}")


def _stored(store: Store, plan: Plan) -> Summary:
    """Under the next free number; where somebody else was quicker, under the one behind."""
    sweep(store, SHRUNK)
    while True:
        number = max((entry.number for entry in store.runs(SHRUNK)), default=-1) + 1
        try:
            return execute(store, SHRUNK, number, plan)
        except RunExists:
            continue


def _about(found: Found, finding: Finding, run: str) -> list[str]:
    before, after = len(found.start.schedule), len(found.best.schedule)
    lasted, lasts = (write_duration(known.plan.for_ns) for known in (found.start, found.best))
    return [
        f"{finding.name}, forbidden by {because(finding.rule)}",
        f"Signature: {found.wanted} [{short_name(found.wanted)}]",
        f"Shrunk from {before} events in {lasted} to {after} in {lasts}, by {found.trials} trials.",
        f"From {found.source}, seed {found.start.plan.seed}.",
        f"repeat: tidemark replay {run}",
    ]


def _written(store: Store, number: str, text: str, original: str) -> tuple[Path, Path]:
    """Beside the runs of the campaign; of a store that is elsewhere, here."""
    directory = (Path() if store.local is None else Path(store.uri)) / SHRUNK
    make_directories(LocalFiles(), directory)
    paths = directory / f"{number}.yaml", directory / f"{number}.original.yaml"
    for path, content in zip(paths, (text, original), strict=True):
        write_durably(LocalFiles(), path, content.encode())
    return paths
