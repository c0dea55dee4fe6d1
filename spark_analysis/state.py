"""spark_analysis/state.py: whether an analysis still holds: the same runs, judged by the same checkers.

In     what is analysed
Out    `state_of`: one digest of what every run looks like (model/look.py) and of the code that judges
Keeps  no file of a run is read for it. Where looks cannot be had, the state is empty and an analysis never holds
Why    last night's store is tonight's baseline, and need not be judged again
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from model.look import look_of
from model.store import Store
from spark_analysis.planning import Scope

JUDGES = ("model", "checkers", "spark_analysis")
"""The packages on which a row depends."""


def state_of(scope: Scope) -> str:
    store = Store(scope.store)
    if store.local is None:
        return ""
    digest = hashlib.sha256(code().encode())
    for campaign in scope.campaigns:
        digest.update(f"/{campaign}".encode())
        for number in store.numbers(campaign):
            digest.update(f"/{number}:{_look(store.directory(campaign, number))}".encode())
    return digest.hexdigest()


def _look(directory: str) -> str:
    try:
        return look_of(directory)
    except OSError:
        return "gone"


@cache
def code() -> str:
    """Of every file of code: a version's number stays while its code is being changed."""
    digest = hashlib.sha256()
    for package in JUDGES:
        for file in sorted(files(package).iterdir(), key=lambda path: path.name):
            if file.name.endswith(".py"):
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()
