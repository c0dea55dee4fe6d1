"""bench/__main__.py: measure, print, remember. `make bench`, or `.venv/bin/python -m bench --only store --keep`."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from bench import analysis, checkers, history, replication, simulator, store
from bench.figures import Figure, print_figure, progress, read_last, write_last

_PARTS = {
    "analysis": analysis.figures,
    "checkers": checkers.figures,
    "history": history.figures,
    "replication": replication.figures,
    "simulator": simulator.figures,
    "store": store.figures,
}


def main() -> None:
    options = _options()
    last = read_last()
    measured: list[Figure] = []
    for part in [options.only] if options.only else _PARTS:
        with tempfile.TemporaryDirectory(prefix="bench-", dir=_build()) as scratch:
            for figure in _PARTS[part](Path(scratch)):
                print_figure(figure, last.get(figure.name))
                measured.append(figure)
    if not options.keep:
        write_last(measured, last if options.only else {})
        progress("bench/last.json now has these figures")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Print the figures and their ratio to the last ones.")
    parser.add_argument("--only", choices=list(_PARTS), help="measure one part; the last figures of the other stay")
    parser.add_argument("--keep", action="store_true", help="leave bench/last.json as it is")
    return parser.parse_args()


def _build() -> Path:
    """Below the working directory and not in /tmp: that may be memory, and an fsync there costs nothing."""
    build = Path.cwd() / "build"
    build.mkdir(exist_ok=True)
    return build


main()
