"""A gigabyte of anything is one sentence and less than a gigabyte of memory: `tidemark check`, as a process of its own."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from model import history
from model.history import About
from model.jsonl import write_jsonl
from tests.model.some_history import append, many

pytestmark = pytest.mark.acceptance

ROOT = Path(__file__).parents[2]
SIZE = 2**30
MOST_MEMORY = 10**9
MOST_SECONDS = 120
COMMAND = "from harness.main import run; code = run(['check', *sys.argv[2:]])"
READ = """from harness.check import read_history; from harness.terminal import Terminal
code = print(read_history(Path(sys.argv[2]), None, Terminal(stderr=True))[0].num_rows)"""
MEASURED = """import re, sys; from pathlib import Path
{}
Path(sys.argv[1]).write_text(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
sys.exit(code)"""


class Ended(msgspec.Struct, frozen=True):
    """How a process ended, and the most memory that it ever held."""

    code: int
    out: str
    err: str
    peak: int
    seconds: float


def ended(where: Path, what: str, *words: str) -> Ended:
    """The child says itself how much it held: what the system tells of it contains its parent at the moment of the fork."""
    began = time.monotonic()
    command = [sys.executable, "-c", MEASURED.format(what), str(where / "peak"), *words]
    child = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    peak = int((where / "peak").read_text()) * 1024
    return Ended(child.returncode, child.stdout, child.stderr, peak, time.monotonic() - began)


def written(path: Path, pieces: Iterator[bytes]) -> Path:
    """Pieces until there is a gigabyte of them."""
    with path.open("wb") as file:
        while file.tell() < SIZE:
            file.write(next(pieces))
    return path


def lines(row_of: str) -> Iterator[bytes]:
    """Endless lines, a megabyte at a time; `%d` is their number."""
    number = 0
    while True:
        yield b"".join((row_of % (number + i)).encode() for i in range(8_192))
        number += 8_192


def noise(first: bytes, size: int = 2**20) -> Iterator[bytes]:
    chance = random.Random(5)
    yield first
    while True:
        yield chance.randbytes(size)


def one_line(first: bytes, letters: bytes) -> Iterator[bytes]:
    yield first
    while True:
        yield letters * (2**20 // len(letters))


def as_lines(count: int) -> bytes:
    sink = io.BytesIO()
    write_jsonl(history.to_table(many(count)), sink)
    return sink.getvalue()


FIRST = b'{"process":0,"kind":"init","type":"ok","start_ns":0,"took_ns":0}\n'
SAME = '{"process":0,"kind":"append","type":"ok","topic":"t","partition":0,"value":7,"acks":-1,"start_ns":0,"took_ns":0,"x":%d}\n'
SHAPES = {
    "noise": noise(b""),
    "noise behind lines": noise(as_lines(50_000)),
    "noise in JSON's clothes": noise(b'{"'),
    "one endless text": one_line(b'{"topic":"', b"x"),
    "one endless list": one_line(FIRST[:-2] + b',"values":[', b"1,"),
    "endless depth": one_line(FIRST + b"{", b'"a":{'),
    "binary with ends of lines": one_line(FIRST, b"\x00\xff\n"),
    "empty lines": one_line(FIRST, b"\n"),
    "JSON, but no operations": lines('{"id":%d,"name":"somebody","tags":["a","b"],"size":17}\n'),
    "operations without a value": lines('{"process":%d,"kind":"append","type":"fail","start_ns":0,"took_ns":0}\n'),
    "one value again and again": lines(SAME),
    "many texts": lines('{"process":0,"kind":"init","type":"ok","start_ns":0,"took_ns":0,"client":"' + "c" * 200 + '%d"}\n'),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_gigabyte_of_garbage_is_one_sentence(shape: str, tmp_path: Path) -> None:
    """Exit code 3, one line, and less than a gigabyte of memory."""
    path = written(tmp_path / "garbage.jsonl", SHAPES[shape])
    try:
        found = ended(tmp_path, COMMAND, str(path), "--format", "jsonl")
    finally:
        path.unlink()
    print(f"\n{shape}: {found.seconds:.1f} s, {found.peak / 2**20:.0f} MiB: {found.err.rstrip()}")
    assert (found.code, found.out, found.err.count("\n")) == (3, "", 1)
    assert found.err.startswith(str(path))
    assert found.peak < MOST_MEMORY
    assert found.seconds < MOST_SECONDS


@pytest.mark.parametrize("share", [0.001, 0.5, 0.97, 0.9999])
def test_a_large_file_that_was_cut_off_is_one_sentence(share: float, tmp_path: Path) -> None:
    """A million operations in Parquet, cut in a column, before the footer, in it."""
    sink = io.BytesIO()
    history.write_parquet(history.to_table(many(1_000_000)), About(run_id="r/1", run_tag=1, plan_digest=""), sink)
    data = sink.getvalue()
    path = tmp_path / "h.parquet"
    path.write_bytes(data[: int(share * len(data))])
    found = ended(tmp_path, COMMAND, str(path))
    print(f"\n{len(data):,} bytes cut at {share}: {found.seconds:.1f} s, {found.peak / 2**20:.0f} MiB: {found.err.rstrip()}")
    assert (found.code, found.out, found.err.count("\n")) == (3, "", 1)
    assert found.peak < MOST_MEMORY


def test_two_million_lines_are_read_within_the_memory_of_their_operations(tmp_path: Path) -> None:
    """Reading and every check of form, without the judge; repeated values at the very end are found as well."""
    path = tmp_path / "h.jsonl"
    with path.open("wb") as file:
        write_jsonl(history.to_table(many(2_000_000)), file)
    found = ended(tmp_path, READ, str(path))
    print(f"\n{path.stat().st_size:,} bytes, 2,000,000 operations: {found.seconds:.1f} s, {found.peak / 2**20:.0f} MiB")
    assert found.out == "2000000\n"
    assert found.peak < MOST_MEMORY
    with path.open("ab") as file:
        write_jsonl(history.to_table([append(3_000_000, start=10**9, process=9, value=0)]), file)
    found = ended(tmp_path, COMMAND, str(path))
    print(f"repeated at the end: {found.seconds:.1f} s, {found.peak / 2**20:.0f} MiB: {found.err.splitlines()[-1]}")
    assert found.code == 3
    assert "line 2000001, op 3000000: value: found 0" in found.err
    assert found.peak < MOST_MEMORY
