"""tidemark check, as somebody types it: the verdict on a history from elsewhere, or one sentence about why it is none."""

from __future__ import annotations

import io
import json
import os
import random
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from checkers.mode import Mode
from harness import check
from harness.main import run as tidemark
from harness.terminal import Terminal
from model import history
from model.history import About
from model.history_checks import REQUIRED, REQUIRED_OF_OK
from model.jsonl import FIELDS, expected_of, write_jsonl
from model.operation import Row
from model.refusal import UnusableFile
from model.verdict import Anomaly, CheckerResult, Scope, Valid, Verdict, Witness
from tests.model.some_history import append, many, read

ROOT = Path(__file__).parents[2]
LOST = Witness(text="p0 appended 17; p1 did not find it.", ops=(1, 3), from_ns=0, to_ns=9)


class Judge:
    """Says what it was told to say, and remembers what it was asked."""

    def __init__(self) -> None:
        self.valid: Valid = "valid"
        self.asked: list[tuple[str, pa.Table, Mode, frozenset[str]]] = []

    def __call__(self, run_id: str, table: pa.Table, mode: Mode, allow: frozenset[str]) -> Verdict:
        self.asked.append((run_id, table, mode, allow))
        lost = Anomaly(name="lost_write", level="committed", count=2, rule="C3", cell="forbidden", witnesses=(LOST,))
        found = (lost,) if self.valid == "invalid" else ()
        result = CheckerResult(
            name="durability", version=1, scope=Scope(topic="t", partition=0), valid=self.valid, anomalies=found
        )
        return Verdict(run_id=run_id, valid=self.valid, checkers=(result,))


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Judge:
    fake = Judge()
    monkeypatch.setattr("checkers.judge.judge_strict", fake, raising=False)
    return fake


def as_lines(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    write_jsonl(history.to_table(rows), sink)
    return sink.getvalue()


def as_parquet(rows: list[Row]) -> bytes:
    sink = io.BytesIO()
    history.write_parquet(history.to_table(rows), About(run_id="nightly/00412", run_tag=7, plan_digest="ab"), sink)
    return sink.getvalue()


def a_file(where: Path, data: bytes) -> str:
    path = where / "h"
    path.write_bytes(data)
    return str(path)


def refused(data: bytes, where: Path, capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence that the command ends with."""
    path = a_file(where, data)
    assert tidemark(["check", path, *words]) == 3
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert said.err.rstrip("\n").isprintable()
    assert said.err.startswith(path)
    return said.err.removeprefix(path).rstrip("\n")


@pytest.mark.parametrize("ending", [("valid", 0, "valid"), ("invalid", 1, "BROKEN"), ("unknown", 2, "unknown")])
@pytest.mark.parametrize("form", [as_lines, as_parquet])
def test_the_verdict_comes_first_and_is_the_exit_code(
    form: Callable[[list[Row]], bytes],
    ending: tuple[Valid, int, str],
    judge: Judge,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Then what was counted."""
    judge.valid, code, word = ending
    path = a_file(tmp_path, form(many(9)))
    assert tidemark(["check", path]) == code
    said = capsys.readouterr().out
    assert said.startswith(f"{word}   {path}: 9 operations\n")
    assert said.endswith("  append: 6 ok\n  read: 3 ok\n")
    (asked,) = judge.asked
    assert asked[1].num_rows == 9
    assert asked[0] == (path if form is as_lines else "nightly/00412")


def test_a_broken_history_is_told_by_its_witnesses(judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each with the numbers of the operations that prove it."""
    judge.valid = "invalid"
    tidemark(["check", a_file(tmp_path, as_lines(many(9)))])
    said = capsys.readouterr().out
    assert "  lost_write in t/0, 2 times\n    p0 appended 17; p1 did not find it. (operations 1, 3)\n" in said


def test_what_was_asked_reaches_the_judge(judge: Judge, tmp_path: Path) -> None:
    """Strict unless somebody says otherwise."""
    path = a_file(tmp_path, as_lines(many(3)))
    tidemark(["check", path])
    tidemark(["check", path, "--density", "sparse", "--copies", "retry", "--freshness", "fenced", "--allow", "a", "--allow", "b"])
    assert [asked[2:] for asked in judge.asked] == [
        (Mode(), frozenset()),
        (Mode(density="sparse", copies="retry", freshness="fenced"), frozenset({"a", "b"})),
    ]


def test_json_is_one_object_and_nothing_else(judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What people read goes to standard error."""
    judge.valid = "invalid"
    path = a_file(tmp_path, as_lines(many(9)))
    assert tidemark(["check", path, "--json"]) == 1
    captured = capsys.readouterr()
    said = json.loads(captured.out)
    assert (said["file"], said["valid"], said["exit_code"]) == (path, "invalid", 1)
    assert said["operations"] == {"append": {"ok": 6}, "read": {"ok": 3}}
    assert said["verdict"]["checkers"][0]["anomalies"][0]["witnesses"][0]["ops"] == [1, 3]
    assert captured.err.startswith("BROKEN")


@pytest.mark.parametrize("rows", [[], [append(0, type="fail", offset=None), append(1, type="info", offset=None)]])
def test_a_history_in_which_nothing_was_answered_is_unknown(
    rows: list[Row], judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing can be wrong with it, and nobody may call that valid."""
    assert tidemark(["check", a_file(tmp_path, as_parquet(rows))]) == 2
    assert "  not judged: no operation ended ok\n" in capsys.readouterr().out
    assert not judge.asked


# -- what is no history -------------------------------------------------------------------------------------------------

LINE = as_lines([append(0)])
UNNUMBERED = LINE.replace(b'"op":0,', b"")
FORMS = {
    "empty": (b"", "found an empty file"),
    "nothing known": (b"hello world, and more", "found 'hello world, and...' at its beginning, expected a history in Parquet"),
    "binary": (b"\x00\x1b[2J\xff\xfe", "found '\\x00\\x1b[2J\\xff\\xfe' at its beginning"),
    "an object of nothing": (b"{}\n", "found '{}' at its beginning"),
    "a blank before it": (b"\n" + LINE, "at its beginning"),
    "EDN": (b"{:process 0, :type :invoke, :f :read, :value nil}\n", "found Jepsen EDN, or a kv log, which cannot be read yet"),
    "EDN in a vector": (b"[{:process 0 :type :invoke}]", "found Jepsen EDN, or a kv log, which cannot be read yet"),
    "etcd": (b"INFO  jepsen.util - 4\t:invoke\t:write\t4\n", "found an etcd log of Jepsen's, which cannot be read yet"),
    "Jepsen-like": (b'{"process": 0, "type": "invoke", "f": "read", "value": null}\n', ", line 1: found a Jepsen-like operation"),
    "JSON of something else": (b'{"name": "x", "version": 3}\n', ", line 1: process: found nothing, expected a whole number"),
}


@pytest.mark.parametrize("form", FORMS)
def test_what_is_no_history_is_refused_by_its_first_bytes(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And a form that comes later, by its name."""
    data, told = FORMS[form]
    assert told in refused(data, tmp_path, capsys)


def test_the_format_may_be_said(judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Then the first bytes are not asked."""
    assert tidemark(["check", a_file(tmp_path, as_lines(many(3))), "--format", "jsonl"]) == 0
    capsys.readouterr()
    assert ", line 1: found an empty line" in refused(b"\n" + LINE, tmp_path, capsys, "--format", "jsonl")
    assert ": found what cannot be read (Parquet magic bytes" in refused(LINE, tmp_path, capsys, "--format", "parquet")
    assert tidemark(["check", "x", "--format", "edn"]) == 3


@pytest.mark.parametrize(("path", "told"), [("/no/such/file", "No such file"), ("/", "Is a directory")])
def test_a_file_that_cannot_be_read_is_refused(path: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Like any other input that cannot be used."""
    assert tidemark(["check", path]) == 3
    assert told in capsys.readouterr().err


def test_lines_may_come_through_a_pipe(judge: Judge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`tidemark check <(zcat h.jsonl.gz)`; Parquet is read from its end, and says so."""
    pipe = tmp_path / "pipe"
    for data, code in ((as_lines(many(500)), 0), (as_parquet(many(9)), 3)):
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
        writer = threading.Thread(target=_write, args=(pipe, data))
        writer.start()
        assert tidemark(["check", str(pipe)]) == code
        writer.join()
    assert judge.asked[0][1].num_rows == 500
    assert "found a pipe, expected a file" in capsys.readouterr().err


def _write(pipe: Path, data: bytes) -> None:
    try:
        pipe.write_bytes(data)
    except BrokenPipeError:
        return


WRONG: dict[str, tuple[list[Row], str]] = {
    "repeated values": (
        [append(0), append(1), append(2, value=1)],
        "line 3, op 2: value: found 1, expected a value that no other",
    ),
    "repeated numbers": (
        [append(0), append(0, value=9)],
        "line 2, op 0: op: found 0, expected a number that no other operation has",
    ),
    "a lie about acks": ([append(0), append(1, acks=0)], "line 2, op 1: type: found 'ok', expected 'info'"),
    "two at once": (
        [read(0, took=5), read(1, process=0, start=2)],
        "line 2, op 1: start_ns: found 2 (process 0), expected a start",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_malformed_history_is_refused_by_its_line(wrong: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With field, finding and expectation."""
    rows, told = WRONG[wrong]
    assert told in refused(as_lines(rows), tmp_path, capsys)


def test_a_malformed_history_in_parquet_is_refused_by_its_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Row group and row, in the order of the file."""
    data = as_parquet([append(0), append(1, start=3, took=-2), append(2, start=9, value=0)])
    assert refused(data, tmp_path, capsys).startswith(", row group 0, row 1, op 1: took_ns: found -2, expected a whole number")


def test_a_file_that_repeats_itself_is_not_read_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What rows may not say beside each other is asked each time there are twice as many."""
    path = a_file(tmp_path, UNNUMBERED * 100_000)
    read_to = []
    monkeypatch.setattr(check.Reading, "at", lambda self, done, rows: read_to.append(rows))
    with pytest.raises(UnusableFile, match="line 2, op 2: value: found 0"):
        check.read_history(Path(path), None, Terminal(stderr=True))
    assert sum(read_to) < 20_000


def test_a_history_of_many_pieces_is_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever pieces are put together, and whatever words each of them had."""
    monkeypatch.setattr("model.jsonl.ROWS_AT_ONCE", 10)
    monkeypatch.setattr(check, "MOST_PIECES", 3)
    rows = [append(op, process=op, client=f"raw-{op // 7}") for op in range(500)]
    table, _ = check.read_history(Path(a_file(tmp_path, as_lines(rows))), None, Terminal(stderr=True))
    assert table.equals(history.to_table(rows))


def test_more_words_than_codes_are_refused_by_their_column(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Everything in a topic of its own is no history."""
    lines = b"".join(LINE.replace(b'"op":0,', b'"op":%d,' % op).replace(b'"t"', b'"t%d"' % op) for op in range(2**15 + 1))
    assert ": topic: found more than 32,767 different words" in refused(lines, tmp_path, capsys)


def garbage(shape: str, size: int) -> bytes:
    """Some megabytes of what might arrive instead of a history."""
    chance = random.Random(3)
    return {
        "noise": lambda: chance.randbytes(size),
        "noise behind a brace": lambda: b'{"' + chance.randbytes(size),
        "noise behind a line": lambda: LINE + chance.randbytes(size),
        "one endless line": lambda: b'{"topic": "' + b"x" * size,
        "one endless number": lambda: LINE[:-2] + b',"key":' + b"7" * size,
        "empty lines": lambda: LINE + b"\n" * size,
        "deep": lambda: LINE[:-2] + b',"later":' + b"[" * size,
        "other people's JSON": lambda: b'{"name":"x","size":17,"tags":["a","b"]}\n' * (size // 40),
        "no operations": lambda: (
            UNNUMBERED + b'{"process":1,"kind":"append","type":"ok","start_ns":1,"took_ns":1}\n' * (size // 64)
        ),
        "the same again": lambda: UNNUMBERED * (size // len(UNNUMBERED)),
        "PAR1 and noise": lambda: b"PAR1" + chance.randbytes(size) + b"PAR1",
        "PAR1 and zeros": lambda: b"PAR1" + bytes(size) + b"PAR1",
    }[shape]()


SHAPES = (
    "noise",
    "noise behind a brace",
    "noise behind a line",
    "one endless line",
    "one endless number",
    "empty lines",
    "deep",
    "other people's JSON",
    "no operations",
    "the same again",
    "PAR1 and noise",
    "PAR1 and zeros",
)


@pytest.mark.parametrize("shape", SHAPES)
def test_garbage_is_one_sentence(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """20 MB of it, of every kind."""
    assert len(refused(garbage(shape, 20_000_000), tmp_path, capsys)) < 500


def test_the_console_script_ends_with_three_and_one_line(tmp_path: Path) -> None:
    """As a process of its own, which is how a script meets it."""
    path = a_file(tmp_path, as_parquet(many(60))[:-100])
    ended = subprocess.run(
        [sys.executable, "-m", "harness", "check", path], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr.count("\n")) == (3, "", 1)


# -- docs/check.md ------------------------------------------------------------------------------------------------------


def table_after(heading: str) -> list[list[str]]:
    """The cells of the table that begins with this line."""
    lines = (ROOT / "docs" / "check.md").read_text().split(heading)[1].splitlines()[1:]
    end = next(i for i, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


def test_the_documented_fields_are_the_ones_that_are_read() -> None:
    """Every field, in its order, with what it takes and whether it must be there."""
    documented = [cells[:2] for cells in table_after("| field | takes | meaning |\n")]
    known = [[f"`{name}`" + " **(always)**" * field.required, expected_of(name)] for name, field in FIELDS.items()]
    assert documented == known


def test_the_documented_needs_of_each_kind_are_the_ones_that_are_checked() -> None:
    """Always, and when it ended ok."""

    def named(names: Any) -> str:
        return ", ".join(f"`{name}`" for name in names) or "-"

    documented = table_after("| kind | needs | and when it ended `ok` |\n")
    assert documented == [[f"`{kind}`", named(needs), named(REQUIRED_OF_OK.get(kind, ()))] for kind, needs in REQUIRED.items()]


def test_the_documented_example_is_what_the_command_prints(
    judge: Judge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Once with the mistake in it, once without."""
    monkeypatch.chdir(tmp_path)
    document = (ROOT / "docs" / "check.md").read_text()
    (lines,) = re.findall(r"```json\n(.*?)```", document, re.DOTALL)
    shown = re.findall(r"```\n\$ tidemark check h.jsonl\n(.*?)```", document, re.DOTALL)
    for text, code, words in ((lines, 3, shown[0]), (lines.replace("390}", "490}"), 0, shown[1])):
        Path("h.jsonl").write_text(text)
        assert tidemark(["check", "h.jsonl"]) == code
        said = capsys.readouterr()
        assert said.out + said.err == words
