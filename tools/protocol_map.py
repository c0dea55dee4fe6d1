"""tools/protocol_map.py: docs/protocol-map.md: which function holds a rule of the protocol, and which test would notice its loss.

In     docstrings and comments: a rule's number in them says that this function, or this test, is about it
Out    the page on standard output; a sentence per rule that has neither a place nor an excuse, and exit code 1
Use    python tools/protocol_map.py > docs/protocol-map.md
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = ("replication",)
TESTS = ("tests/replication", "tests/clusters/sim", "tests/scenarios")
SECTIONS = {1: 14, 2: 43, 3: 20, 4: 20, 5: 51, 6: 15, 7: 12, 8: 14, 9: 6, 10: 6}
TITLES = {
    1: "Roles, identifiers, epochs",
    2: "The controllers' quorum",
    3: "Metadata records and their state machine",
    4: "The life of a broker",
    5: "Replicas of a partition",
    6: "Producing",
    7: "Reading",
    8: "Elections",
    9: "Reassignment",
    10: "Failing log directories",
}
NUMBER = re.compile(r"(?<![\d.])(10|[1-9])\.(\d{1,2})(?![\d.]*\d)")
MOST = 6

Rule = tuple[int, int]

DEFINITION = "definition"
LATER = "later"
LEFT_OUT = "left out"
EXCUSED: dict[Rule, tuple[str, str]] = {
    (1, 1): (DEFINITION, "the two roles; `node.py` wires them"),
    (1, 2): (DEFINITION, "what a replica is"),
    (1, 8): (DEFINITION, "offsets, LEO, HW, log start; the LSO is the HW, there are no transactions"),
    (1, 9): (DEFINITION, "the LESO; `state.py` Leadership keeps it, 5.8 sets it"),
    (1, 10): (DEFINITION, "what offset and leader epoch name; 5.1 stamps them, invariant 10 watches that nobody else does"),
    (1, 11): (DEFINITION, "the true HW exists only in the checker"),
    (1, 14): (LATER, "listeners and API numbers belong to the wire"),
    (3, 17): (LATER, "CreatePartitions, with retention and DeleteRecords"),
    (5, 26): (DEFINITION, "which request truncates; Fetch does"),
    (7, 6): (DEFINITION, "what follows for clients; invariants 5, 6 and 12 and the checkers judge it"),
    (7, 8): (LEFT_OUT, "fetch sessions: every request is full (section 17)"),
    (7, 10): (LATER, "DeleteRecords"),
    (8, 7): (DEFINITION, "why the ELR is safe: proven by the invariants"),
    (8, 10): (DEFINITION, "what Kafka does not have either"),
    (9, 6): (LATER, "replication throttling"),
    (10, 6): (LEFT_OUT, "moving replicas between directories of one broker"),
}


def main() -> int:
    code, tests = found_in(CODE, tests=False), found_in(TESTS, tests=True)
    sys.stdout.write(page(code, tests))
    wrong = list(complaints(code, tests))
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    return 1 if wrong else 0


def rules() -> Iterator[Rule]:
    return ((section, number) for section, last in SECTIONS.items() for number in range(1, last + 1))


# -- reading ------------------------------------------------------------------------------------------------------------


def found_in(folders: tuple[str, ...], *, tests: bool) -> dict[Rule, list[str]]:
    """Where each rule is spoken of: `path: name`, in order."""
    found: dict[Rule, list[str]] = defaultdict(list)
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for name, rule in spoken_of(path.read_text(encoding="utf-8"), tests=tests):
                place = f"`{path.relative_to(ROOT).as_posix()}` {name}".strip()
                if place not in found[rule]:
                    found[rule].append(place)
    return found


def spoken_of(source: str, *, tests: bool) -> Iterator[tuple[str, Rule]]:
    """(function, rule) for every number in a docstring or a comment; of a class or a module's own words the name is its own."""
    words = comments(source)
    for name, node in definitions(ast.parse(source)):
        if tests and not name.split(".")[-1].startswith("test_"):
            continue
        text = ast.get_docstring(node) or ""
        inner = [line for each in ast.walk(node) if each is not node and is_definition(each) for line in lines_of(each)]
        for line in lines_of(node):
            text += "\n" + (words.get(line, "") if line not in inner or tests else "")
        for rule in numbers(text):
            yield name, rule


def is_definition(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)


def lines_of(node: ast.AST) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)  # type: ignore[attr-defined]


def definitions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.ClassDef]]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef):
                    yield f"{node.name}.{inner.name}", inner


def comments(source: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return {token.start[0]: token.string for token in tokens if token.type == tokenize.COMMENT}


def numbers(text: str) -> list[Rule]:
    """Numbers of rules, and ranges such as `5.35 to 5.37`."""
    found: dict[Rule, None] = {}
    for section, first, last in re.findall(r"(?<![\d.])(10|[1-9])\.(\d{1,2}) to \1\.(\d{1,2})", text):
        for number in range(int(first), int(last) + 1):
            found[int(section), number] = None
    for section, number in NUMBER.findall(text):
        found[int(section), int(number)] = None
    return [rule for rule in found if 1 <= rule[1] <= SECTIONS[rule[0]]]


# -- judging and printing -------------------------------------------------------------------------------------------------


def complaints(code: dict[Rule, list[str]], tests: dict[Rule, list[str]]) -> Iterator[str]:
    """A rule that nobody holds, or that nobody tests, and has no excuse."""
    for rule in rules():
        if rule not in EXCUSED:
            written = ".".join(map(str, rule))
            if not code.get(rule):
                yield f"{written}: no function speaks of it"
            if not tests.get(rule):
                yield f"{written}: no test speaks of it"


def page(code: dict[Rule, list[str]], tests: dict[Rule, list[str]]) -> str:
    lines = [
        "# Which function holds a rule of the protocol, and which test would notice its loss",
        "",
        "Generated by `python tools/protocol_map.py > docs/protocol-map.md` from the numbers in docstrings and comments, and",
        "compared by a test. A rule without a function is a definition, comes later, or is left out, with the reason.",
    ]
    for section, title in TITLES.items():
        lines += ["", f"## {section}. {title}", "", "| rule | held by | tested by |", "|---|---|---|"]
        for number in range(1, SECTIONS[section] + 1):
            lines.append(row((section, number), code, tests))
    return "\n".join(lines) + "\n"


def row(rule: Rule, code: dict[Rule, list[str]], tests: dict[Rule, list[str]]) -> str:
    written = ".".join(map(str, rule))
    if rule in EXCUSED:
        kind, reason = EXCUSED[rule]
        return f"| {written} | *{kind}*: {reason} | {listed(tests.get(rule, []))} |"
    return f"| {written} | {listed(code.get(rule, []))} | {listed(tests.get(rule, []))} |"


def listed(places: list[str]) -> str:
    more = f" and {len(places) - MOST} more" if len(places) > MOST else ""
    return "<br>".join(places[:MOST]) + more


if __name__ == "__main__":
    sys.exit(main())
