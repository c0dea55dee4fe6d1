"""Every bug that was found and shrunk: the right rules keep the promise, the mutant breaks it, in the words of the same file."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.shrink.trial import tried
from model.refusal import Refusal
from tests.regressions.regression import Expected, Regression, read_regression

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.yaml"))
REGRESSIONS = [read_regression(file) for file in FILES]
LINES = [(regression, expected) for regression in REGRESSIONS for expected in regression.expected]
MOST_EVENTS = 6
AGAIN = "Where seeds changed: find a failing run of this mutant again, `tidemark shrink` it, and put the result here"


@pytest.mark.parametrize(("regression", "expected"), LINES, ids=[f"{found.name}, {line.rules}" for found, line in LINES])
def test_what_is_expected_is_seen(regression: Regression, expected: Expected) -> None:
    """Under these rules, and nothing else."""
    outcome = tried(expected.plan)
    if expected.seen == "valid":
        assert (outcome.valid, outcome.signatures) == ("valid", ())
    else:
        assert expected.seen in outcome.signatures, f"{regression.name} shows nothing any more. {AGAIN}"


@pytest.mark.parametrize("regression", REGRESSIONS, ids=lambda regression: regression.name)
def test_it_can_be_read(regression: Regression) -> None:
    """A few events, and a story before them."""
    schedule = regression.expected[0].plan.schedule
    assert isinstance(schedule, tuple)
    assert len(schedule) <= MOST_EVENTS
    assert regression.story


WELL = """# A story.
plan: {seed: 3, for: 4s}
schedule: [{at: 1s, fault: kill, target: leader}]
expect: {right rules: valid, with B36: "s1:lost_write:committed:C3:suffix:final:A=F"}
"""


def written(where: Path, text: str) -> Path:
    path = where / "a.yaml"
    path.write_text(text)
    return path


def test_a_regression_is_a_plan_and_what_is_expected_of_it(tmp_path: Path) -> None:
    """Twice the same plan, but for the rules."""
    found = read_regression(written(tmp_path, WELL))
    right, wrong = found.expected
    assert (found.story, right.seen, wrong.rules) == ("A story.", "valid", "with B36")
    assert (right.plan.seed, right.plan.for_ns, right.plan.mutants, wrong.plan.mutants) == (3, 4 * 10**9, (), ("B36",))


@pytest.mark.parametrize(
    ("right", "wrong", "said"),
    [
        ("plan: {", "plan: {rat: 5/s, ", "line 2: plan/rat: unknown key 'rat'"),
        ("plan: {", "plan: {mutants: [B36], ", "line 2: plan/mutants: unknown key 'mutants'"),
        ("plan: {seed: 3", "plan: {seed: three", "line 2: plan/seed: not a whole number"),
        ("schedule:", "schedul:", "line 3: schedul: unknown key 'schedul'"),
        ("target: leader", "target: laeder", "line 3: schedule/0/target: no such target: 'laeder'"),
        ("at: 1s", "at: 5s", "line 3: schedule/0/at: 5s is not before the end of the run"),
        ("with B36", "with B99", "line 4: expect/with B99: unknown key 'with B99'"),
        ("right rules: valid, ", "", "line 4: expect: both are expected"),
        ("right rules: valid", "right rules: fine", "line 4: expect/right rules: found 'fine'"),
        ("expect:", "expects:", "line 4: expects: unknown key 'expects'"),
        ("# A story.\n", "", "a regression begins with its story"),
    ],
)
def test_what_nobody_would_read_is_refused(tmp_path: Path, right: str, wrong: str, said: str) -> None:
    """With its line: an expectation under a wrong name would never fail."""
    assert right in WELL
    with pytest.raises(Refusal) as refusal:
        read_regression(written(tmp_path, WELL.replace(right, wrong)))
    assert said in str(refusal.value)
