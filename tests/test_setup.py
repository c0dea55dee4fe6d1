"""The set-up: what is missing is said with the package that adds it, and uv is used where it is."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """tools/setup.py, pointed at an empty directory."""
    spec = importlib.util.spec_from_file_location("tidemark_setup", ROOT / "tools" / "setup.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "VENV", str(tmp_path / ".venv"))
    monkeypatch.setattr(module, "PYTHON", str(tmp_path / ".venv" / "bin" / "python"))
    return module


def test_an_old_python_is_told_so(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made, with the command that helps."""
    monkeypatch.setattr(sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer[\s\S]*apt-get install python3 python3-venv"):
        setup.check_this_python()


def test_a_missing_venv_names_the_debian_package(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian ships venv without ensurepip until that package is there."""
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    with pytest.raises(SystemExit, match=r"apt-get install python3\.\d+-venv"):
        setup.make_environment()


@pytest.mark.parametrize("uv", [None, "/somewhere/uv"])
def test_uv_when_it_is_there_and_pip_when_it_is_not(setup: ModuleType, monkeypatch: pytest.MonkeyPatch, uv: str | None) -> None:
    """Always with the pinned versions, always into .venv."""
    calls: list[list[str]] = []
    monkeypatch.setattr(setup.shutil, "which", lambda _: uv)
    monkeypatch.setattr(setup.subprocess, "call", lambda command, **_: calls.append(command) or 0)
    setup.install("something", ["-e", ".[dev]"])
    (command,) = calls
    assert command[0] == (uv or setup.PYTHON)
    assert setup.PYTHON in command
    assert command[command.index("-c") + 1] == "constraints.txt"


def test_a_failing_uv_gives_way_to_pip(setup: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """uv may be set up for another index than pip; only when both fail is it an end, and the end says what to try."""
    calls: list[list[str]] = []
    monkeypatch.setattr(setup.shutil, "which", lambda _: "/somewhere/uv")
    monkeypatch.setattr(
        setup.subprocess, "call", lambda command, **_: calls.append(command) or int(command[0] == "/somewhere/uv")
    )
    setup.install("something", ["-e", ".[dev]"])
    assert [command[0] for command in calls] == ["/somewhere/uv", setup.PYTHON]
    monkeypatch.setattr(setup.subprocess, "call", lambda *_, **__: 1)
    with pytest.raises(SystemExit, match="make setup"):
        setup.install("something", ["-e", ".[dev]"])


def test_versions_are_pinned_plainly() -> None:
    """constraints.txt has name==version lines and nothing else; every direct dependency is among them."""
    import re
    import tomllib

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.]+", line) for line in lines)
    pinned = {line.partition("==")[0].lower().replace("_", "-") for line in lines}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    for requirement in wanted:
        assert re.split(r"[<>=]", requirement)[0].lower() in pinned, requirement
