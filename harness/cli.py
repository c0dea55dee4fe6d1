"""harness/cli.py: one function per command; what it does lives elsewhere.

In    words that typer has already taken apart
Out   calls into the other packages, and what they returned, printed
Rules positional only for the thing acted upon; the example is the epilog; `--json` puts one object on standard output
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from checkers.mode import Copies, Density, Freshness, Mode
from model import plan_file
from model.matrix import expand
from model.plan import digest, to_data, to_yaml
from model.version import version as tidemark_version
from model.vocabulary import Form

app = typer.Typer(
    name="tidemark",
    help="Break a replicated log on purpose, and check whether its promises were kept.",
    epilog="Examples: tidemark run --runs 100 · tidemark doctor · tidemark plan plans/default.yaml · tidemark demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, everything else on standard error.")
]
StorePath = Annotated[str, typer.Option("--store", metavar="PATH", help="Where runs are kept.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="A run in a store: STORE/campaign/number.")]
Master = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Execute on a Spark: spark://host:port, or local[4] (docs/spark.md).", show_default=False),
]
Overrides = Annotated[
    list[str],
    typer.Option("--set", metavar="PATH=VALUE", help="Replace one field of the plan; the path is written with slashes."),
]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Replaces the plan's seed.")]
Jobs = Annotated[int | None, typer.Option("--jobs", metavar="N", min=1, help="How many runs at once; without it, one per core.")]
Mutant = Annotated[str, typer.Option("--mutant", metavar="NAMES", help="Wrong rules to switch on, such as B11 or B11,B13.")]
Plans = Annotated[
    list[str],
    typer.Argument(metavar="PLAN...", help="Plans in YAML; `presets` for all that are shipped, `presets/rf1` for one of them."),
]
NoPrune = Annotated[
    bool, typer.Option("--no-prune", help="Run also combinations that say the same as another one; refuse those that cannot be.")
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tidemark {tidemark_version()}")
        raise typer.Exit


@app.callback()
def tidemark(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (may stand anywhere).")] = False,
) -> None:
    """Break a replicated log on purpose, and check whether its promises were kept."""


def with_seed_and_mutants(overrides: list[str], seed: int | None, mutant: str) -> list[str]:
    """Two options are nothing but the shorter form of an override."""
    return [*overrides, *([] if seed is None else [f"seed={seed}"]), *([f"mutants=[{mutant}]"] if mutant else [])]


@app.command(epilog="Example: tidemark plan plans/default.yaml --set workload/acks=1")
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan in YAML.")],
    overrides: Overrides = [],  # noqa: B006  typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Check a plan and print it expanded: every default written out, one document per combination of its matrix."""
    cells = expand(plan_file.load(file, overrides))
    if as_json:
        print(json.dumps([{"chosen": c.chosen, "digest": digest(c.plan), "plan": to_data(c.plan)} for c in cells]))
        return
    for number, cell in enumerate(cells):
        if len(cells) > 1:
            chosen = ", ".join(f"{path} = {value}" for path, value in cell.chosen.items())
            print(f"--- # plan {number + 1} of {len(cells)}: {chosen}")
        print(to_yaml(cell.plan), end="")


@app.command(epilog="Example: tidemark run plans/default.yaml --runs 200 --seed 7")
def run(
    plan: Annotated[Path | None, typer.Argument(metavar="PLAN", help="A plan in YAML; without one, the default plan.")] = None,
    seed: Seed = None,
    runs: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="A campaign of so many runs, each with its own seed.")
    ] = None,
    jobs: Jobs = None,
    master: Master = None,
    store: StorePath = "store",
    mutant: Mutant = "",
    overrides: Overrides = [],  # noqa: B006  typer reads the default and never changes it
    as_json: Json = False,
) -> int:
    """Run a plan in the simulator, once or many times; the same command goes on with a campaign that was interrupted."""
    from harness.commands import run_plan
    from harness.hands import Hands

    more, hands = with_seed_and_mutants(overrides, seed, mutant), Hands(jobs=jobs, master=master)
    return run_plan(plan, more, runs=runs, hands=hands, store=store, as_json=as_json)


@app.command(epilog="Example: tidemark matrix presets --runs 20 · tidemark matrix nightly.yaml --set for=10s --mutant B36")
def matrix(
    plans: Plans,
    runs: Annotated[int, typer.Option(metavar="N", min=1, help="Runs of each cell.")] = 10,
    resume: Annotated[
        bool, typer.Option("--resume", help="Refuse when there is nothing to resume, instead of beginning anew.")
    ] = False,
    seed: Seed = None,
    jobs: Jobs = None,
    master: Master = None,
    store: StorePath = "store",
    mutant: Mutant = "",
    overrides: Overrides = [],  # noqa: B006
    no_prune: NoPrune = False,
    as_json: Json = False,
) -> int:
    """Run every combination of plans with a matrix, and show for each what was expected and what was observed.

    The same command goes on with a matrix that was interrupted, and with a larger --runs adds to one that is complete.
    """
    from harness.hands import Hands
    from harness.matrix_command import Options, run_matrix

    options = Options(
        runs=runs, hands=Hands(jobs=jobs, master=master), store=store, resume=resume, prunes=not no_prune, as_json=as_json
    )
    return run_matrix(plans, with_seed_and_mutants(overrides, seed, mutant), options)


@app.command(epilog="Example: tidemark soak plans/default.yaml --for 8h")
def soak(
    plan: Annotated[str, typer.Argument(metavar="PLAN", help="A plan in YAML, or `presets`; of a matrix all cells, in turn.")],
    for_: Annotated[str, typer.Option("--for", metavar="TIME", help="How long, such as 8h: all sessions together.")],
    seed: Seed = None,
    jobs: Jobs = None,
    master: Master = None,
    store: StorePath = "store",
    mutant: Mutant = "",
    overrides: Overrides = [],  # noqa: B006
    no_prune: NoPrune = False,
    as_json: Json = False,
) -> int:
    """Run a plan again and again until the time is used up; interrupted or killed, the same command goes on with what is left."""
    from harness.hands import Hands
    from harness.soak import Options, run_soak

    options = Options(for_=for_, hands=Hands(jobs=jobs, master=master), store=store, prunes=not no_prune, as_json=as_json)
    return run_soak(plan, with_seed_and_mutants(overrides, seed, mutant), options)


@app.command(epilog="Example: tidemark replay store/runs/00000 --collect directories")
def replay(
    path: Run,
    collect: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write every node's directories there, as they are at the end.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Run a stored run again, from its own plan, and say whether the same things happened."""
    from harness.commands import replay_run

    return replay_run(path, collect=collect, as_json=as_json)


@app.command(epilog="Example: tidemark shrink store/nightly/00412 --budget 10m")
def shrink(
    path: Run,
    budget: Annotated[str, typer.Option(metavar="TIME", help="Stop searching after this long and keep the best so far.")] = "10m",
    signature: Annotated[
        str, typer.Option(metavar="SHORT", help="Which failure; without it, the first of the run's verdict.")
    ] = "",
    jobs: Jobs = None,
    as_json: Json = False,
) -> int:
    """Find the smallest schedule that still fails the way RUN failed."""
    from harness.shrink.command import shrink_run

    return shrink_run(path, signature=signature, budget=budget, jobs=jobs, as_json=as_json)


@app.command(epilog="Example: tidemark trace store/runs/00000 --from 4s --to 9s --node n1")
def trace(
    path: Run,
    node: Annotated[list[str], typer.Option(metavar="NODE", help="Only what happens at this node; may be repeated.")] = [],  # noqa: B006
    partition: Annotated[str | None, typer.Option(metavar="TOPIC/N", help="Only what concerns this partition.")] = None,
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="From this time of the run on.")] = "",
    end: Annotated[str, typer.Option("--to", metavar="TIME", help="Up to this time of the run.")] = "",
    messages: Annotated[str, typer.Option(metavar="KINDS", help="Messages as well: `all`, or kinds such as Fetch,Produce.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every operation on a line of its own.")] = False,
) -> None:
    """Run a stored run again and print what happens, a line each: faults in the margin, a column per node."""
    from harness.commands import trace_run

    trace_run(path, nodes=node, partition=partition, window=(begin, end), messages=messages, everything=everything)


@app.command(epilog="Example: tidemark check history.jsonl --density sparse --allow stale_end_offset")
def check(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A history in Parquet or as JSON lines (docs/check.md).")],
    form: Annotated[
        Form | None, typer.Option("--format", help="What FILE is; without it, its first bytes say.", show_default=False)
    ] = None,
    density: Annotated[Density, typer.Option(help="Whether every offset is a record.")] = "dense",
    copies: Annotated[
        Copies | None,
        typer.Option(help="Whether a value may be there twice; without it, where its append was sent again.", show_default=False),
    ] = None,
    freshness: Annotated[
        Freshness, typer.Option(help="Compare all reads, or only where Kafka promises that they are fresh.")
    ] = "strict",
    allow: Annotated[list[str], typer.Option(metavar="NAME", help="An anomaly that is no failure; may be repeated.")] = [],  # noqa: B006
    as_json: Json = False,
) -> int:
    """Check a history from elsewhere: is there an order of its operations that one log could have had?"""
    from harness.check import check_file

    return check_file(file, form, Mode(density=density, copies=copies, freshness=freshness), allow, as_json=as_json)


@app.command(epilog="Example: tidemark analyze store --baseline last-night")
def analyze(
    store: Annotated[str, typer.Argument(metavar="STORE", help="A store, or one campaign in it: STORE/campaign.")],
    master: Annotated[
        str, typer.Option(metavar="URL", help="Which Spark, such as spark://host:port; `pool` needs no Java.")
    ] = "local[*]",
    baseline: Annotated[
        str | None, typer.Option(metavar="STORE", help="Runs to compare with, cell by cell.", show_default=False)
    ] = None,
    jobs: Annotated[int | None, typer.Option(metavar="N", min=1, help="Cores to use; without it, all of them.")] = None,
    as_json: Json = False,
) -> int:
    """Judge every stored run again and say what all of them show: failures by signature, cells, what is new, what is rotten."""
    from harness.analyze import analyze_store

    return analyze_store(store, master=master, baseline=baseline, jobs=jobs, as_json=as_json)


@app.command(epilog="Example: tidemark doctor --require docker,java")
def doctor(
    require: Annotated[str, typer.Option(metavar="PARTS", help="Exit with 4 when one of these is missing.")] = "",
    as_json: Json = False,
) -> None:
    """Show what this machine can run and, for each missing part, the command that adds it."""
    from harness import doctor as parts

    wanted = [name.strip() for name in require.split(",") if name.strip()]
    for name in wanted:
        parts.part(name)  # a wrong name is refused before anything is looked for
    findings = parts.look()
    if as_json:
        print(json.dumps({"parts": parts.as_data(findings)}))
    else:
        Console().print(parts.as_table(findings))
    parts.require(wanted)


@app.command(epilog="Example: tidemark demo --store demo-store")
def demo(
    store: Annotated[Path, typer.Option(metavar="PATH", help="Where the demo keeps its runs.")] = Path("demo"),
) -> None:
    """Show what Tidemark does, on this machine, in a minute."""
    from harness.demo import demo as show

    show(store, Console())
