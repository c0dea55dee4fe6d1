"""tidemark analyze, as somebody types it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from harness.main import run as tidemark
from model.identity import written_number
from model.store import Store
from spark_analysis import session
from tests.spark_analysis.stores import LOSES_NOW_AND_THEN, MUTANT, RUIN, copy_run, flip, simulate

POOL = ("--master", "pool", "--jobs", "2")


def analyze(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    capsys.readouterr()
    code = tidemark(["analyze", *words])
    captured = capsys.readouterr()
    return code, captured.out + captured.err


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nothing is wrong with it, and nothing is compared with it but by its cells."""
    path = tmp_path_factory.mktemp("sound") / "store"
    simulate(Store(path), "nightly", range(3))
    simulate(Store(path), "pairs", range(10), LOSES_NOW_AND_THEN)
    return path


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("broken") / "store"
    simulate(Store(path), "nightly", range(3))
    simulate(Store(path), "pairs", range(10), msgspec.structs.replace(LOSES_NOW_AND_THEN, mutants=(MUTANT,)))
    return path


@pytest.fixture
def ruined(tmp_path: Path) -> Path:
    """A run of each sort of ruin, and one that the machine failed."""
    store = Store(tmp_path / "store")
    simulate(store, "nightly", range(2))
    for place, (damage, _) in enumerate(RUIN.values()):
        for number in (10 + 2 * place, 11 + 2 * place):
            copy_run(store, "nightly", number % 2, number)
        damage(Path(store.directory("nightly", 10 + 2 * place)))
    return tmp_path / "store"


def test_a_sound_store_is_told_in_a_few_lines(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts, cells, where the tables are; exit code 0."""
    code, said = analyze(capsys, str(sound), *POOL)
    assert code == 0
    assert "13 runs in " in said
    assert " on a pool of 2 processes, " in said
    assert f": 13 valid   ({sound})" in said
    assert "  cell " in said
    assert f"tables:  {sound}/analysis/" in said
    assert "quarantined" not in said


def test_failures_are_told_with_the_command_that_repeats_them(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By signature, with how many runs and which mutants; exit code 1."""
    code, said = analyze(capsys, str(broken), *POOL)
    assert code == 1
    assert " BROKEN, " in said
    assert f", mutants {MUTANT}   s1:lost_write:committed:C3:" in said
    first = next(line for line in said.splitlines() if line.startswith("    repeat:  "))
    assert tidemark(first.split()[2:]) == 1, "and it breaks again"


def test_what_is_new_is_told_with_its_cell(sound: Path, broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And the other way round: what is not seen again."""
    code, said = analyze(capsys, str(broken), "--baseline", str(sound), *POOL)
    assert code == 1
    (compared,) = [line for line in said.splitlines() if line.startswith("compared with ")]
    assert compared.startswith(f"compared with {sound}, 13 runs")
    assert ", in 2 cells: " in compared
    assert [line for line in said.splitlines() if line.startswith("  NEW in cell ")] != []
    assert " of 10 runs, before 0 of 10 runs   tidemark replay " in said
    code, said = analyze(capsys, str(sound), "--baseline", str(broken), *POOL)
    assert code == 0
    assert "unchanged since it was analysed" in said
    assert f"tidemark replay {broken}/pairs/" in said
    assert "NEW" not in said


def test_every_run_in_quarantine_is_named_with_its_reason(ruined: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A doubt: exit code 2. A run that the machine failed is counted and is no doubt about the machine: 4."""
    code, said = analyze(capsys, str(ruined), *POOL)
    assert code == 2
    assert f"12 valid, {len(RUIN)} quarantined" in said
    for place, (_, words) in enumerate(RUIN.values()):
        (line,) = [line for line in said.splitlines() if line.startswith(f"  quarantined  nightly/{10 + 2 * place:05d}: ")]
        assert words in line
    store = Store(ruined)
    with store.begin("nightly", 90, store.open("nightly", 0).plan()) as writer:
        writer.finish("infrastructure", None, "the disk was full")
    with store.begin("nightly", 91, store.open("nightly", 0).plan()) as writer:
        writer.finish("killed", None, "the power went")
    code, said = analyze(capsys, str(ruined), *POOL)
    assert code == 4
    assert f"12 valid, 1 infrastructure failure, 1 killed, {len(RUIN)} quarantined" in said


def test_one_object_on_standard_output_and_everything_else_beside_it(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Verdict, counts, failing runs with seed and command, paths."""
    capsys.readouterr()
    assert tidemark(["analyze", f"{broken}/pairs", "--json", *POOL]) == 1
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert "10 runs in " in captured.err
    assert (told["runs"], told["exit_code"], told["store"]) == (10, 1, f"{broken}/pairs")
    assert sum(told["counts"].values()) == 10
    assert len(told["failing"]) == told["counts"]["broken"]
    failing = told["failing"][0]
    assert failing["replay"] == f"tidemark replay {failing['run']}"
    _, _, number = failing["run"].rpartition("/")
    assert Store(broken).record("pairs", int(number)).seed == failing["seed"]
    assert Path(told["tables"]).is_relative_to(broken / "pairs" / "analysis")
    assert {each["name"] for each in told["signatures"]} >= {"lost_write"}
    assert told["comparison"] is None


def test_without_java_a_pool_does_it_and_says_so(
    sound: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same analysis, with the command that would add a Java."""
    monkeypatch.setattr(session, "find_java", lambda: None)
    code, said = analyze(capsys, str(sound), "--jobs", "1")
    assert code == 0
    assert "Spark needs Java 17 or 21, and this machine has none: a pool of 1 process works instead   (add it: make java)" in said
    assert " on a pool of 1 process, " in said


def test_without_spark_a_pool_does_it_and_says_so(
    sound: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.analyze.find_spec", lambda name: None)
    code, said = analyze(capsys, str(sound), "--jobs", "1")
    assert code == 0
    assert "pyspark is not installed: a pool of 1 process works instead   (add it: pip install 'tidemark[spark]')" in said


@pytest.mark.needs("java")
@pytest.mark.xdist_group("spark")
def test_by_default_spark_does_it(sound: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """On as many cores as it may."""
    code, said = analyze(capsys, str(sound), "--jobs", "2")
    assert code == 0
    assert " on local[2], " in said
    assert ": 13 valid " in said


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["nowhere"], "nowhere: there are no runs here"),
        (["STORE", "--baseline", "nowhere"], "nowhere: there are no runs here"),
        (["STORE/nightly/00000"], "there are no runs here"),
        (["STORE", "--jobs", "0"], "--jobs"),
        (["STORE", "--master", "moon"], "no such master: 'moon'"),
        ([], "Missing argument 'STORE'"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_starts(
    sound: Path, capsys: pytest.CaptureFixture[str], words: list[str], problem: str
) -> None:
    code, said = analyze(capsys, *(word.replace("STORE", str(sound)) for word in words))
    assert code == 3
    assert problem in said


def test_a_broken_run_that_rots_is_a_doubt_and_no_longer_a_failure(
    broken: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What cannot be believed proves nothing, in either direction."""
    store = Store(tmp_path / "store")
    simulate(store, "pairs", range(10), msgspec.structs.replace(LOSES_NOW_AND_THEN, mutants=(MUTANT,)))
    failing = [number for number in range(10) if store.runs("pairs")[number].valid == "invalid"]
    assert failing
    for number in failing:
        flip(Path(store.directory("pairs", number)), "history.parquet")
    code, said = analyze(capsys, str(store.uri), *POOL)
    assert code == 2
    assert f"{10 - len(failing)} valid, {len(failing)} quarantined" in said
    assert f"pairs/{written_number(failing[0])}: history.parquet: not the file that was written" in said


def test_progress_is_told_in_plain_lines(
    sound: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody sees a bar."""
    monkeypatch.setattr("harness.analysis_told.PLAIN_EVERY_S", 0.0)
    _, said = analyze(capsys, str(sound), *POOL)
    assert "13 of 13 runs: 13 valid" in said
