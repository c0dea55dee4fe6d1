"""harness/terminal.py: how a command speaks when nobody may be listening any more.

In     text, for people or for programs
Out    the same on standard output or standard error
Keeps  a reader that leaves early (`| head`) changes no exit code: what a run found is said by that code, whoever reads the words
"""

from __future__ import annotations

import os
import sys

from rich.console import Console


class Terminal(Console):
    """rich's console ends the process with 1 when its reader leaves; 1 means something here. `:end:` is part of a signature."""

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, emoji=False)

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget_standard_output()


def put(text: str) -> None:
    """One text for programs, on standard output."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        forget_standard_output()


def forget_standard_output() -> None:
    """Whoever read our output has gone; the interpreter must not complain about it on its way out."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
