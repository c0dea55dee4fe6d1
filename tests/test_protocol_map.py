"""docs/protocol-map.md: every rule of the protocol has a function and a test, or a reason for having none."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools import protocol_map

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def found() -> tuple[dict[protocol_map.Rule, list[str]], dict[protocol_map.Rule, list[str]]]:
    code = protocol_map.found_in(protocol_map.CODE, tests=False)
    return code, protocol_map.found_in(protocol_map.TESTS, tests=True)


def test_the_page_is_what_the_command_prints() -> None:
    """On a bare Python, as the page says."""
    said = subprocess.run([sys.executable, "tools/protocol_map.py"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert said.stderr == ""
    assert said.returncode == 0
    assert said.stdout == (ROOT / "docs" / "protocol-map.md").read_text(), (
        "functions or tests have moved:  python tools/protocol_map.py > docs/protocol-map.md"
    )


def test_no_rule_is_missing_and_none_is_silently_untested(found: tuple[dict, dict]) -> None:  # type: ignore[type-arg]
    """Rules 1.1 to 10.6."""
    assert list(protocol_map.complaints(*found)) == []
    assert sum(protocol_map.SECTIONS.values()) == 201


def test_a_rule_that_nobody_holds_or_tests_is_noticed(found: tuple[dict, dict]) -> None:  # type: ignore[type-arg]
    """The check can fail."""
    code, tests = found
    without = {rule: places for rule, places in code.items() if rule != (5, 28)}
    assert list(protocol_map.complaints(without, tests)) == ["5.28: no function speaks of it"]
    untested = {rule: places for rule, places in tests.items() if rule != (5, 31)}
    assert list(protocol_map.complaints(code, untested)) == ["5.31: no test speaks of it"]


def test_numbers_that_are_no_rules_are_not_taken_for_some() -> None:
    """Versions, durations and sections of other texts."""
    source = '''
def f():
    """5.28, 8.3 to 8.5 and (2.13): a decision. Not 5.99, 1.2.3, 0.5, 12.1 or 3.141592."""
    return 2.7  # 5.31 in a comment counts
'''
    assert [rule for _, rule in protocol_map.spoken_of(source, tests=False)] == [
        (8, 3),
        (8, 4),
        (8, 5),
        (5, 28),
        (2, 13),
        (5, 31),
    ]
