"""Bad plans: one file per way to be wrong, the expected message beside it.

The first line of each file names the field that the message must point at; the `.txt` beside it is the whole message.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.main import run

HERE = Path(__file__).parent / "bad_plans"
FILES = sorted(HERE.glob("*.yaml"))


def test_there_are_enough_ways_to_be_wrong() -> None:
    """At least forty, and no expectation without its plan."""
    assert len(FILES) >= 40
    assert {path.stem for path in HERE.glob("*.txt")} == {path.stem for path in FILES}


@pytest.mark.parametrize("file", FILES, ids=lambda path: path.stem)
def test_a_bad_plan_is_refused_by_name(file: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, nothing on standard output, and one message that names the file and the exact field."""
    monkeypatch.chdir(HERE)
    assert run(["plan", file.name]) == 3
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == file.with_suffix(".txt").read_text()
    first_line = printed.err.splitlines()[0]
    field = file.read_bytes().splitlines()[0].decode().removeprefix("# at:").strip()
    assert first_line.startswith(file.name)
    assert f": {field}" in first_line
    assert "Traceback" not in printed.err
