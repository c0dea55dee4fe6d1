"""What the documents show is what the commands print."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.main import run as tidemark

ROOT = Path(__file__).parents[2]


def test_the_trace_in_the_architecture_is_what_the_command_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The story of a lossy leader restart, line by line. Where seeds changed, paste what the two commands print now."""
    monkeypatch.chdir(tmp_path)
    told = (ROOT / "docs" / "architecture.md").read_text()
    found = re.search(r"\$ tidemark run (\S+)\n\$ tidemark trace (store/runs/00000 .*)\n((?:.*\n)*?)```", told)
    assert found is not None
    plan, words, shown = found.groups()
    tidemark(["run", str(ROOT / plan)])
    capsys.readouterr()
    assert tidemark(["trace", *words.split()]) == 0
    assert capsys.readouterr().out == shown
