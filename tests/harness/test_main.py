"""The command line: every end has the right exit code and one sentence, and no traceback reaches whoever made a mistake."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from harness import cli, main
from harness.main import run
from model.refusal import InfrastructureFailure

ROOT = Path(__file__).parents[2]
DEFAULT = str(ROOT / "plans" / "default.yaml")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], ""),
        (["docotr"], "No such command 'docotr'. Did you mean 'doctor'?"),
        (["plan"], "Missing argument 'FILE'"),
        (["plan", DEFAULT, "--sett", "x=1"], "No such option: --sett"),
        (["plan", DEFAULT, "one", "too", "many"], "unexpected extra argument"),
        (["doctor", "--require", "dokcer"], "did you mean: docker"),
        (["--no-such-option"], "No such option"),
        (["plan", "/no/such/file.yaml"], "/no/such/file.yaml: cannot read it: No such file or directory"),
        (["plan", "/"], "/: cannot read it: Is a directory"),
        (["plan", "/dev/null"], "/dev/null: the file is empty"),
    ],
)
def test_wrong_usage_is_3(words: list[str], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Typer's own 2 would mean `unknown`; a wrong word is 3, like any other input that cannot be used."""
    assert run(words) == 3
    printed = capsys.readouterr()
    assert expected in printed.err
    assert "Traceback" not in printed.err


def test_a_mistake_of_ours_is_4_and_never_1(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """1 says that a promise was broken; a crash of Tidemark says nothing about anybody's promises."""

    def stumble(*_: object) -> None:
        raise ZeroDivisionError("no such luck")

    monkeypatch.setattr(cli.plan_file, "load", stumble)
    assert run(["plan", DEFAULT]) == 4
    said = capsys.readouterr().err
    assert said.startswith("a mistake of Tidemark's own: ZeroDivisionError: no such luck\n")
    assert "--debug" in said
    assert "Traceback" not in said
    assert run(["plan", DEFAULT, "--debug"]) == 4
    assert "Traceback" in capsys.readouterr().err


def test_debug_changes_what_is_shown_and_not_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """A refusal is 3 with a traceback, too; 1 would mean that a promise was broken."""
    assert run(["plan", DEFAULT, "--debug", "--set", "seed=x"]) == 3
    assert "Traceback" in capsys.readouterr().err


def test_a_path_that_cannot_be_used_is_told_in_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """The machine's word, not a mistake of ours."""
    assert run(["demo", "--store", "/dev/null/x"]) == 4
    assert "please report" not in capsys.readouterr().err


def test_a_failing_machine_is_4(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With its sentence, and without a word about reporting it to us."""

    def fail(*_: object) -> None:
        raise InfrastructureFailure("the disk is full")

    monkeypatch.setattr(cli.plan_file, "load", fail)
    assert run(["plan", DEFAULT]) == 4
    assert capsys.readouterr().err == "the disk is full\n"


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, typer.Abort])
def test_ctrl_c_is_130(monkeypatch: pytest.MonkeyPatch, interruption: type[BaseException]) -> None:
    """However it arrives."""

    def interrupt(*_: object) -> None:
        raise interruption

    monkeypatch.setattr(cli.plan_file, "load", interrupt)
    assert run(["plan", DEFAULT]) == 130


def test_a_real_ctrl_c_ends_a_real_command(tmp_path: Path) -> None:
    """SIGINT to a process that waits for its input: 130, and no traceback."""
    plan = tmp_path / "plan.yaml"
    os.mkfifo(plan)
    child = subprocess.Popen([sys.executable, "-m", "harness", "plan", str(plan)], stderr=subprocess.PIPE, text=True, cwd=ROOT)
    with plan.open("wb"):  # opens once the command has opened it for reading, and then it waits
        child.send_signal(signal.SIGINT)
        _, said = child.communicate(timeout=30)
    assert (child.returncode, said) == (130, "stopped by Ctrl-C\n")


def test_a_reader_that_leaves_early_is_no_error() -> None:
    """`tidemark plan ... | head -1` ends quietly."""
    matrix = "matrix/seed=[" + ",".join(map(str, range(300))) + "]"
    command = [sys.executable, "-m", "harness", "plan", DEFAULT, "--set", matrix]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    assert (child.wait(timeout=60), child.stderr.read()) == (0, b"")


def test_version_and_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command has one sentence and one example."""
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tidemark 0.")
    for command in ([], ["plan"], ["doctor"], ["demo"]):
        assert run([*command, "--help"]) == 0
        assert "Example" in capsys.readouterr().out


def test_plan_as_json_is_one_object_per_combination(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing else on standard output."""
    assert run(["plan", DEFAULT, "--json", "--set", "matrix/seed=[1, 2]"]) == 0
    first, second = json.loads(capsys.readouterr().out)
    assert (first["chosen"], second["plan"]["seed"]) == ({"seed": 1}, 2)


def test_the_printed_plan_can_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `tidemark plan` prints is a plan, and prints the same again."""
    assert run(["plan", DEFAULT]) == 0
    printed = capsys.readouterr().out
    (tmp_path / "again.yaml").write_text(printed)
    assert run(["plan", str(tmp_path / "again.yaml")]) == 0
    assert capsys.readouterr().out == printed


def test_doctor_requires_what_it_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """4 when a part is missing, with the command that adds it; 0 when all are there."""
    assert run(["doctor", "--require", "python"]) == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    capsys.readouterr()
    assert run(["doctor", "--require", "python,kcat,maven"]) == 4
    printed = capsys.readouterr()
    assert "kcat" in printed.err
    assert "apt-get install" in printed.err
    assert "maven" in printed.out


def test_an_installation_for_nodes_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The core installs without the command line's libraries; `tidemark` then says how to add them."""
    monkeypatch.setattr(main, "NEEDED", ("msgspec", "no_such_library"))
    assert run(["plan", DEFAULT]) == 4
    said = capsys.readouterr().err
    assert "no_such_library" in said
    assert "tidemark[harness]" in said


def test_the_demo_shows_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without Java it runs on a pool and says so; a second demo finds its own name."""
    from harness import demo
    from spark_analysis import session

    monkeypatch.setattr(session, "find_java", lambda: None)
    monkeypatch.setattr(demo, "RUNS", 3)
    monkeypatch.chdir(tmp_path)
    assert run(["demo"]) == 0
    assert run(["demo"]) == 0
    said = capsys.readouterr().out
    assert "a process pool" in said
    assert "counts the same" in said
    assert "from its stored plan: the same" in said
    assert "lossy_kill" in said
    assert "Not there yet" in said
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["demo-1", "demo-2"]
