"""harness/cli.py: one function per command; what it does lives elsewhere.

In    words that typer has already taken apart
Out   calls into the other packages, and what they returned, printed
Rules positional only for the thing acted upon; the example is the epilog; `--json` puts one object on standard output
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from model import matrix, plan_file
from model.plan import digest, to_data, to_yaml

app = typer.Typer(
    name="tidemark",
    help="Break a replicated log on purpose, and check whether its promises were kept.",
    epilog="Examples: tidemark doctor · tidemark plan plans/default.yaml · tidemark demo",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on standard output, everything else on standard error.")
]
Overrides = Annotated[
    list[str],
    typer.Option("--set", metavar="PATH=VALUE", help="Replace one field of the plan; the path is written with slashes."),
]


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tidemark {importlib.metadata.version('tidemark')}")
        raise typer.Exit


@app.callback()
def tidemark(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks (may stand anywhere).")] = False,
) -> None:
    """Break a replicated log on purpose, and check whether its promises were kept."""


@app.command(epilog="Example: tidemark plan plans/default.yaml --set workload/acks=1")
def plan(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A plan in YAML.")],
    overrides: Overrides = [],  # noqa: B006  typer reads the default and never changes it
    as_json: Json = False,
) -> None:
    """Check a plan and print it expanded: every default written out, one document per combination of its matrix."""
    cells = matrix.expand(plan_file.load(file, overrides))
    if as_json:
        print(json.dumps([{"chosen": c.chosen, "digest": digest(c.plan), "plan": to_data(c.plan)} for c in cells]))
        return
    for number, cell in enumerate(cells):
        if len(cells) > 1:
            chosen = ", ".join(f"{path} = {value}" for path, value in cell.chosen.items())
            print(f"--- # plan {number + 1} of {len(cells)}: {chosen}")
        print(to_yaml(cell.plan), end="")


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
