"""Same seed, same run: in another process, with another hash seed, tomorrow."""

from __future__ import annotations

import hashlib
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from clusters.sim.cluster import SimCluster
from harness.run import run
from harness.worlds import schedule_of
from tests.golden.digests import SEEDS, digest_of, plan_of

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "digests.json"


def digest_with(seed: int, disturb: Callable[[SimCluster], None]) -> str | None:
    plan = plan_of(seed, seconds=3)
    cluster = SimCluster(plan)
    disturb(cluster)
    return run(plan, schedule_of(plan), cluster).digest


def assert_repeats(seed: int, disturb: Callable[[SimCluster], None]) -> None:
    """What every test here means by `the same`."""
    assert digest_with(seed, disturb) == digest_with(seed, disturb), f"seed {seed} did something else the second time"


def undisturbed(cluster: SimCluster) -> None:
    """As it is."""


@pytest.mark.parametrize("ten", range(5))
def test_fifty_seeds_do_the_same_twice(ten: int) -> None:
    """A seed is all there is to a run."""
    for seed in range(100 + 10 * ten, 110 + 10 * ten):
        assert_repeats(seed, undisturbed)


def test_different_seeds_do_different_things() -> None:
    """A digest that is always the same would repeat as well."""
    assert len({digest_with(seed, undisturbed) for seed in range(100, 110)}) == 10


def at_a_moment_nobody_can_repeat(cluster: SimCluster) -> None:
    """Nothing happens in it: that it stands between two other events is enough."""
    cluster.time.after(random.SystemRandom().randrange(1, 10**9), lambda: None)


def with_a_number_nobody_can_repeat(cluster: SimCluster) -> None:
    """A draw that does not come from the seed."""
    cluster.kernel.note(99, 1, random.SystemRandom().getrandbits(60))


@pytest.mark.parametrize("disturb", [at_a_moment_nobody_can_repeat, with_a_number_nobody_can_repeat])
def test_a_non_deterministic_event_is_caught(disturb: Callable[[SimCluster], None]) -> None:
    """One event of one run that chance from outside has moved, and the digest is another."""
    with pytest.raises(AssertionError, match="something else"):
        assert_repeats(100, disturb)


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_ten_seeds_do_what_they_did_when_they_were_committed(hash_seed: str) -> None:
    """In a process of their own and with any hash seed: stored runs can be replayed, and nothing depends on a hash."""
    command = [sys.executable, "-m", "tests.golden.digests"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(said.stdout) == json.loads(GOLDEN.read_text()), (
        "seeds do something else than before. If that was meant:\n"
        "  .venv/bin/python -m tests.golden.digests > tests/golden/digests.json\n"
        "and say in CHANGELOG.md, under `Seeds that changed`, what differs for whoever has stored runs."
    )


def test_changed_golden_digests_are_told_in_the_changelog() -> None:
    """Whoever has stored runs must learn that they no longer replay."""
    name = hashlib.sha256(GOLDEN.read_bytes()).hexdigest()[:12]
    assert name in (ROOT / "CHANGELOG.md").read_text(), f"CHANGELOG.md needs a line about the golden digests, named {name}"


def test_here_and_there_are_the_same() -> None:
    """A run in this process has the digest of the one in another."""
    golden = json.loads(GOLDEN.read_text())
    seed = SEEDS[0]
    assert digest_of(plan_of(seed)) == golden[str(seed)]
