"""The layering of DESIGN section 1 holds, and the contract that says so bites."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MAY_IMPORT: dict[str, set[str]] = {
    "model": set(),
    "replication": set(),
    "checkers": {"model"},
    "nemesis": {"model"},
    "workloads": {"model"},
    "clusters": {"model", "replication"},
    "spark_analysis": {"model", "checkers"},
    "reports": {"model", "checkers", "spark_analysis"},
}
PACKAGES = {*MAY_IMPORT, "harness"}


def lint(where: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(
        command, cwd=where, env={**os.environ, "PYTHONPATH": str(where)}, capture_output=True, text=True, check=False
    )


def copy_of_the_house(where: Path) -> Path:
    shutil.copy(ROOT / "pyproject.toml", where)
    for package in PACKAGES:
        (where / package).mkdir()
        shutil.copy(ROOT / package / "__init__.py", where / package)
    return where


def test_the_house_keeps_its_layers() -> None:
    """No package imports upward or sideways."""
    said = lint(ROOT)
    assert said.returncode == 0, said.stdout


def test_every_forbidden_import_is_named_by_the_contract(tmp_path: Path) -> None:
    """One forbidden import per pair of packages, all added to a copy: the contract names every single one."""
    house = copy_of_the_house(tmp_path)
    assert lint(house).returncode == 0
    forbidden = [(room, other) for room in MAY_IMPORT for other in PACKAGES - MAY_IMPORT[room] - {room}]
    for room, other in forbidden:
        (house / room / f"stray_{other}.py").write_text(f"import {other}\n")
    said = lint(house)
    assert said.returncode != 0
    for room, other in forbidden:
        assert re.search(rf"{room}\.stray_{other} -> {other} ", said.stdout), f"{room} may import {other} unnoticed"


def test_the_core_of_replication_cannot_reach_the_world(tmp_path: Path) -> None:
    """A socket, a thread, a clock, a file or chance in the core is named by the contract, wherever it hides."""
    house = copy_of_the_house(tmp_path)
    (house / "replication" / "rules").mkdir()
    (house / "replication" / "rules" / "__init__.py").write_text("")
    for module in ("socket", "asyncio", "threading", "time", "os", "random", "uuid"):
        (house / "replication" / f"stray_{module}.py").write_text(f"import {module}\n")
        (house / "replication" / "rules" / f"hidden_{module}.py").write_text(f"def f():\n    import {module}\n")
    said = lint(house)
    assert said.returncode != 0
    for module in ("socket", "asyncio", "threading", "time", "os", "random", "uuid"):
        assert re.search(rf"replication\.stray_{module} -> {module} ", said.stdout), module
        assert re.search(rf"replication\.rules\.hidden_{module} -> {module} ", said.stdout), module


def test_every_allowed_import_is_allowed(tmp_path: Path) -> None:
    """The contract forbids no more than the design does."""
    house = copy_of_the_house(tmp_path)
    for room, others in {**MAY_IMPORT, "harness": PACKAGES - {"harness"}}.items():
        (house / room / "proper.py").write_text("".join(f"import {other}\n" for other in sorted(others)))
    said = lint(house)
    assert said.returncode == 0, said.stdout


def test_every_package_says_what_lives_there() -> None:
    """A module docstring of a few lines that names what comes in and what goes out."""
    for package in PACKAGES:
        text = (ROOT / package / "__init__.py").read_text()
        assert text.startswith(f'"""{package}/: '), package
        assert "\nIn " in text, package
        assert "\nOut " in text, package
