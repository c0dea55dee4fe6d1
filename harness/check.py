"""harness/check.py: `tidemark check FILE`: the verdict on a history from elsewhere, from its file to its exit code (CHECKERS 10).

In     a file of operations, in any form that harness/history_forms.py knows
Out    exit code 0 to 3; the verdict first, then its witnesses, then what was counted
Keeps  memory bounded by the operations kept: what no operation can be is refused where it stands, before more is read; nothing
       is judged that is malformed anywhere
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import cast

import pyarrow as pa
import pyarrow.compute as pc

from checkers.mode import Mode
from harness.check_told import Reading, as_data, tell
from harness.history_forms import HistoryFile
from harness.terminal import Terminal, put
from model.history import SCHEMA, WORDS, conform
from model.history_checks import Place, check_rows, check_together
from model.refusal import ExitCode, UnusableFile
from model.verdict import Verdict, exit_code
from model.vocabulary import Form

Judge = Callable[[str, pa.Table, Mode, frozenset[str]], Verdict]
Counts = Mapping[str, Mapping[str, int]]

NOTHING_OK = "no operation ended ok"
MOST_PIECES = 64


def check_file(
    path: Path, form: Form | None, mode: Mode, allow: Iterable[str], *, as_json: bool, judge: Judge | None = None
) -> ExitCode:
    """Read, judge, tell. `judge`: None = the strict one."""
    console = Terminal(stderr=as_json)
    table, run_id = read_history(path, form, console)
    counts = counted(table)
    verdict = judged(run_id, table, mode, frozenset(allow), judge)
    tell(console, str(path), verdict, counts)
    ending = exit_code("done", verdict.valid)
    if as_json:
        put(json.dumps(as_data(str(path), verdict, counts, ending)))
    return ending


def read_history(path: Path, form: Form | None, console: Terminal) -> tuple[pa.Table, str]:
    """The whole history, well formed, and what its run is called."""
    file = HistoryFile(path, form)
    kept = _Kept(file.name, file.source.place)
    with file.stream, Reading(console, file.name, file.total) as reading:
        for batch in file.source.batches():
            kept.add(pa.Table.from_batches([batch]))
            reading.at(file.done(kept.rows), kept.rows)
    return kept.whole(), file.run_id


class _Kept:
    """The operations read so far. What they may not say beside each other is asked each time there are twice as many: a file
    that repeats itself is not read to its end."""

    def __init__(self, name: str, place: Place) -> None:
        self.rows = self._checked = 0
        self._name, self._place = name, place
        self._pieces: list[pa.Table] = []

    def add(self, piece: pa.Table) -> None:
        begin = self.rows
        check_rows(piece, lambda row: self._place(begin + row))
        self._pieces.append(piece)
        self.rows += piece.num_rows
        if self.rows >= 2 * self._checked:
            self.whole()
        elif len(self._pieces) == MOST_PIECES:
            self._join()

    def whole(self) -> pa.Table:
        table = self._join()
        if self._checked < self.rows:
            check_together(table, self._place)
            self._checked = self.rows
        return table

    def _join(self) -> pa.Table:
        """One table, and each word in it once."""
        try:
            self._pieces = [conform(pa.concat_tables(self._pieces or [SCHEMA.empty_table()]))]
        except pa.ArrowInvalid:
            raise UnusableFile(_too_many_words(self._pieces), where=self._name) from None
        return self._pieces[0]


def _too_many_words(pieces: list[pa.Table]) -> str:
    """The codes of words are small (CHECKERS 1.1): which column has more of them than there are codes?"""
    for column in WORDS:
        seen: set[str] = set()
        for piece in pieces:
            seen.update(*(chunk.dictionary.to_pylist() for chunk in piece.column(column).chunks))
        most = 2 ** (SCHEMA.field(column).type.index_type.bit_width - 1) - 1
        if len(seen) > most:
            return f"{column}: found more than {most:,} different words, expected fewer"
    raise AssertionError("no column has too many words")


def judged(run_id: str, table: pa.Table, mode: Mode, allow: frozenset[str], judge: Judge | None) -> Verdict:
    """10.3: where nothing was answered, nothing can be wrong, and nobody may call that valid."""
    if not pc.any(pc.equal(table.column("type").cast(pa.string()), "ok")).as_py():
        return Verdict(run_id=run_id, valid="unknown", reasons=(NOTHING_OK,))
    if judge is None:
        from checkers.judge import judge_strict

        judge = cast(Judge, judge_strict)
    return judge(run_id, table, mode, allow)


def counted(table: pa.Table) -> Counts:
    """Operations by kind and type."""
    groups = table.select(["kind", "type"]).group_by(["kind", "type"]).aggregate([([], "count_all")])
    counts: dict[str, Counter[str]] = {}
    for group in groups.to_pylist():
        counts.setdefault(group["kind"], Counter())[group["type"]] += group["count_all"]
    return counts
